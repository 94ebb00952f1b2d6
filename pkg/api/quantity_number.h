// Number: coefficient * 10^exponent with a coefficient of any size. The arithmetic behind Quantity's big form; nothing
// outside quantity*.cc includes this.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace dra::api::decimal {

using BigInt = boost::multiprecision::cpp_int;

struct Number {
  BigInt coefficient;
  int64_t exponent = 0;
};

BigInt power_of_ten(int64_t n);
// Digits only, at least one.
BigInt parse_digits(std::string_view digits);
// Upper bound of the count of decimal digits of |v|, at most one too many.
int64_t digits_upper_bound(const BigInt& v);
// Exact three-way comparison; never writes out more digits than the longer operand has.
int compare(const Number& a, const Number& b);
// v / 10^digits rounded away from zero.
BigInt divide_away_from_zero(const BigInt& v, int64_t digits);
int64_t saturate(const BigInt& v);
// Nearest double, ties to even; infinite beyond the range.
double to_double(const BigInt& v);
// Go's math.Pow10: infinite above 308, 0 below -323.
double pow10_double(int64_t n);

}  // namespace dra::api::decimal
