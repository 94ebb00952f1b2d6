#include "pkg/strategy/prices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace dra::strategy {
namespace {

constexpr size_t kRounds = 300;
constexpr size_t kSettled = kRounds / 2;  // earlier rounds are not averaged
constexpr double kStep = 0.1;

struct Size {
  size_t cells = 0;
  double demand = 0;
  double weight = 0;  // of all devices of this size together
};

// By number of free cells: the best value at this round's prices, and the last size in it (null: one cell stays free).
struct Fillings {
  std::array<double, kCells + 1> value{};
  std::array<const Size*, kCells + 1> last{};
};

Fillings fill(const std::vector<Size>& sizes) {
  Fillings out;
  for (size_t cells = 1; cells <= kCells; ++cells) {
    out.value[cells] = out.value[cells - 1];
    for (const Size& size : sizes) {
      if (size.cells > cells) break;  // in ascending order
      const double value = out.value[cells - size.cells] + size.weight / size.demand;
      if (value <= out.value[cells]) continue;
      out.value[cells] = value;
      out.last[cells] = &size;
    }
  }
  return out;
}

// Lowers the prices of the sizes that the best filling of a whole device serves, in proportion to their served demand.
void cheapen(std::vector<Size>& sizes, const Fillings& fillings) {
  std::vector<double> served(sizes.size(), 0);
  for (size_t cells = kCells; cells > 0;) {
    const Size* last = fillings.last[cells];
    if (last == nullptr) {
      --cells;
      continue;
    }
    served[static_cast<size_t>(last - sizes.data())] += 1 / last->demand;
    cells -= last->cells;
  }
  const double most = *std::max_element(served.begin(), served.end());
  double sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) sum += sizes[i].weight *= std::exp(-kStep * served[i] / most);
  for (Size& size : sizes) size.weight /= sum;
}

}  // namespace

PriceTable price_rests(const Demand& demand) {
  std::vector<Size> sizes;
  for (size_t cells = 1; cells <= kCells; ++cells)
    if (demand[cells] > 0) sizes.push_back({cells, demand[cells], demand[cells] * static_cast<double>(cells)});
  PriceTable prices{};
  if (sizes.empty()) {
    for (size_t cells = 0; cells <= kCells; ++cells)
      prices[cells] = kWholeDevice / static_cast<int64_t>(kCells) * static_cast<int64_t>(cells);
    return prices;
  }
  std::array<double, kCells + 1> sum{};
  for (size_t round = 0; round < kRounds; ++round) {
    const Fillings fillings = fill(sizes);
    if (round >= kSettled)
      for (size_t cells = 0; cells <= kCells; ++cells) sum[cells] += fillings.value[cells] / fillings.value[kCells];
    cheapen(sizes, fillings);
  }
  for (size_t cells = 0; cells <= kCells; ++cells)
    prices[cells] = std::llround(sum[cells] / static_cast<double>(kRounds - kSettled) * kWholeDevice);
  return prices;
}

}  // namespace dra::strategy
