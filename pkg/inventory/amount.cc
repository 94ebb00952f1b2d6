#include "pkg/inventory/amount.h"

#include <iterator>
#include <limits>

namespace dra::inventory {
namespace {

std::string with_suffix(Amount whole, Amount base, const char* const (&suffixes)[7]) {
  size_t suffix = 0;
  while (suffix + 1 < std::size(suffixes) && whole % base == 0) {
    whole /= base;
    ++suffix;
  }
  return amount_text(whole * kNanosPerUnit) + suffixes[suffix];
}

}  // namespace

Amount to_amount(const api::Quantity& quantity) {
  if (auto whole = quantity.as_int64()) return static_cast<Amount>(*whole) * kNanosPerUnit;
  int64_t rounded = quantity.value();  // away from zero, saturated
  Amount amount = static_cast<Amount>(rounded) * kNanosPerUnit;
  if (rounded == std::numeric_limits<int64_t>::max() || rounded == std::numeric_limits<int64_t>::min()) return amount;
  auto rest = quantity.sub(api::Quantity::from_int64(rounded));
  return rest ? amount + rest->scaled_value(-9) : amount;
}

std::string amount_text(Amount amount) {
  bool negative = amount < 0;
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(amount) : static_cast<unsigned __int128>(amount);
  auto nanos = static_cast<uint64_t>(rest % kNanosPerUnit);
  rest /= kNanosPerUnit;
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest > 0);
  if (nanos > 0) {
    std::string fraction = std::to_string(nanos);
    fraction.insert(0, 9 - fraction.size(), '0');
    while (fraction.back() == '0') fraction.pop_back();
    digits += "." + fraction;
  }
  return (negative ? "-" : "") + digits;
}

std::string short_amount_text(Amount amount) {
  const Amount whole = amount / kNanosPerUnit;
  if (whole < 1'000'000 || whole * kNanosPerUnit != amount) return amount_text(amount);
  const std::string binary = with_suffix(whole, 1024, {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"});
  const std::string decimal = with_suffix(whole, 1000, {"", "k", "M", "G", "T", "P", "E"});
  return decimal.size() < binary.size() ? decimal : binary;
}

}  // namespace dra::inventory
