#include "test/oracle/amount.h"

#include <cctype>

namespace dra::oracle {
namespace {

// More digits would overflow; no test quantity comes near that.
constexpr size_t kMaxDigits = 27;

// The factor of a suffix in nano units; 0 if unknown.
Amount suffix_factor(std::string_view suffix) {
  const Amount nano = 1;
  if (suffix.empty()) return kOne;
  if (suffix == "n") return nano;
  if (suffix == "u") return nano * 1000;
  if (suffix == "m") return nano * 1'000'000;
  const std::string_view decimal = "kMGTPE";
  const std::string_view binary = "KMGTPE";
  Amount factor = kOne;
  if (suffix.size() == 1) {
    const size_t power = decimal.find(suffix[0]);
    if (power == std::string_view::npos) return 0;
    for (size_t i = 0; i <= power; ++i) factor *= 1000;
    return factor;
  }
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const size_t power = binary.find(suffix[0]);
    if (power == std::string_view::npos) return 0;
    for (size_t i = 0; i <= power; ++i) factor *= 1024;
    return factor;
  }
  return 0;
}

}  // namespace

std::optional<Amount> parse_amount(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  Amount digits = 0;
  size_t count = 0;
  size_t decimals = 0;
  bool point = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(text[i]))) {
      if (++count > kMaxDigits) return std::nullopt;
      digits = digits * 10 + (text[i] - '0');
      if (point) ++decimals;
    } else {
      break;
    }
  }
  if (count == 0) return std::nullopt;
  std::string_view suffix = text.substr(i);
  Amount factor = suffix_factor(suffix);
  if (factor == 0 && suffix.size() >= 2 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    int exponent = 0;
    const bool down = suffix[1] == '-';
    for (char c : suffix.substr(down || suffix[1] == '+' ? 2 : 1)) {
      if (!std::isdigit(static_cast<unsigned char>(c)) || exponent > 18) return std::nullopt;
      exponent = exponent * 10 + (c - '0');
    }
    if (exponent > 18) return std::nullopt;
    factor = kOne;
    for (int e = 0; e < exponent && !down; ++e) factor *= 10;
    if (down) decimals += static_cast<size_t>(exponent);
  }
  if (factor == 0) return std::nullopt;
  if (digits != 0 && factor > (static_cast<Amount>(1) << 126) / digits) return std::nullopt;
  Amount divisor = 1;
  for (size_t d = 0; d < decimals; ++d) divisor *= 10;
  const Amount product = digits * factor;
  const Amount rounded_up = (product + divisor - 1) / divisor;
  return negative ? -rounded_up : rounded_up;
}

int64_t whole(Amount amount) {
  const Amount quotient = amount / kOne;
  return static_cast<int64_t>(amount > quotient * kOne ? quotient + 1 : quotient);
}

}  // namespace dra::oracle
