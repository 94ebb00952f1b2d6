// Random: the only source of randomness (jitter, name suffixes, identities). Equal seeds give equal sequences.
#pragma once

#include <cstdint>
#include <string>

namespace dra {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t next() = 0;

  // Uniform in [0, bound); 0 when bound is 0.
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1).
  double unit();
  // A random (version 4) UUID in lower case.
  std::string uuid();
  // `count` characters of the alphabet that API servers use for generated names.
  std::string name_suffix(int count = 5);
};

// xoshiro256** from a 64-bit seed. Not thread-safe: one thread owns it.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed);
  uint64_t next() override;

 private:
  uint64_t state_[4];
};

// A seed from the operating system's entropy, for programs started without one.
uint64_t entropy_seed();

}  // namespace dra
