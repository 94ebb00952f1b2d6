// What the generators of random worlds share.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "pkg/base/random.h"
#include "test/oracle/generator.h"

namespace dra::oracle {

inline const std::array<std::string, 2> kDrivers = {"a.example.com", "b.example.com"};

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  bool chance(unsigned percent) { return random_.below(100) < percent; }
  int between(int low, int high) {
    return low + static_cast<int>(random_.below(static_cast<uint64_t>(high - low + 1)));
  }
  uint64_t below(uint64_t bound) { return random_.below(bound); }
  template <class C>
  const typename C::value_type& one_of(const C& list) {
    return list[random_.below(list.size())];
  }
  Random& random() { return random_; }

 private:
  SeededRandom random_;
};

// In place, after everything else: the ingredients of 1.37 and 1.38.
void add_what_137_adds(World& world, const Ingredients& ingredients, Dice& dice);

// `most`: the largest number of devices for one request.
api::ResourceClaim random_claim(int number, int most, const Ingredients& ingredients, Dice& dice);

}  // namespace dra::oracle
