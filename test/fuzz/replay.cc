// Runs a fuzz target over its seeds (one per line) and over mutations of them, without libFuzzer. Further arguments are
// files to run unchanged (a fuzzer's findings).
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pkg/base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutationsPerSeed = 20;

void run_one(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string mutate(std::string text, const std::vector<std::string>& seeds, dra::Random& random) {
  const uint64_t changes = 1 + random.below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t at = random.below(text.size() + 1);
    switch (random.below(4)) {
      case 0:
        text.erase(at, 1 + random.below(8));
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random.below(256)));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      default: {
        const std::string& other = seeds[random.below(seeds.size())];
        const size_t from = random.below(other.size() + 1);
        text.insert(at, other.substr(from, random.below(24)));
        break;
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s SEEDS [FILE...]\n", argv[0]);
    return 2;
  }
  std::ifstream file(argv[1]);
  std::vector<std::string> seeds;
  for (std::string line; std::getline(file, line);) seeds.push_back(line);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds in %s\n", argv[0], argv[1]);
    return 2;
  }
  dra::SeededRandom random(42);
  size_t runs = 0;
  for (const std::string& seed : seeds) {
    run_one(seed);
    for (int i = 0; i < kMutationsPerSeed; ++i) run_one(mutate(seed, seeds, random));
    runs += 1 + kMutationsPerSeed;
  }
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    run_one(std::string(std::istreambuf_iterator<char>(in), {}));
    ++runs;
  }
  std::printf("%zu inputs\n", runs);
  return 0;
}
