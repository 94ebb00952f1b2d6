#include "pkg/base/random.h"

#include <cstdio>
#include <random>

namespace dra {
namespace {

// splitmix64: spreads a seed over the generator's state.
uint64_t split_mix(uint64_t& x) {
  x += 0x9e3779b97f4a7c15ULL;
  uint64_t z = x;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t rotate_left(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

}  // namespace

uint64_t Random::below(uint64_t bound) {
  if (bound == 0) return 0;
  // Draws again at or above the largest multiple of `bound`, so that every result is equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    const uint64_t value = next();
    if (value < limit) return value % bound;
  }
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::string Random::uuid() {
  const uint64_t a = (next() & ~0xf000ULL) | 0x4000ULL;
  const uint64_t b = (next() & ~(0xc0ULL << 56)) | (0x80ULL << 56);
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", unsigned(a >> 32), unsigned((a >> 16) & 0xffff),
                unsigned(a & 0xffff), unsigned(b >> 48), static_cast<unsigned long long>(b & 0xffffffffffffULL));
  return text;
}

std::string Random::name_suffix(int count) {
  // No vowels and no look-alikes, as in k8s.io/apimachinery/pkg/util/rand.
  static constexpr char kAlphabet[] = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (int i = 0; i < count; ++i) text += kAlphabet[below(sizeof kAlphabet - 1)];
  return text;
}

SeededRandom::SeededRandom(uint64_t seed) {
  for (uint64_t& word : state_) word = split_mix(seed);
}

uint64_t SeededRandom::next() {
  const uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

uint64_t entropy_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace dra
