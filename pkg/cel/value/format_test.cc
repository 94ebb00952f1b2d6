#include "pkg/cel/value/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace dra::cel::lib::format_test {

std::string formatted(const std::string& format, std::vector<Value> arguments) {
  const ListRep list{arguments.data(), static_cast<uint32_t>(arguments.size())};
  Budget budget{1 << 16};
  auto text = format_text(format, list, budget);
  return text ? *text : "!" + text.error().message;
}

TEST(Format, Clauses) {
  const Value one = Value::of_int(1);
  EXPECT_EQ(formatted("%s-%d%%", {Value::of_string("a"), Value::of_int(5)}), "a-5%");
  EXPECT_EQ(formatted("%x %X %o %b", {Value::of_int(255), Value::of_int(-255), Value::of_int(8), Value::of_bool(true)}),
            "ff -FF 10 1");
  EXPECT_EQ(formatted("%f", {Value::of_double(1234567.5)}), "1,234,567.500000");
  EXPECT_EQ(formatted("%.0f", {Value::of_double(-123456)}), "-123,456");
  EXPECT_EQ(formatted("%.2e", {Value::of_double(0.000012345)}),
            "1.234500\xC3\x97"
            "10\xE2\x81\xBB\xE2\x81\xB0\xE2\x81\xB5");
  EXPECT_EQ(formatted("%e", {Value::of_double(-HUGE_VAL)}), "    -\xE2\x88\x9E");
  EXPECT_EQ(formatted("%X", {Value::of_bytes("hi\xff")}), "6869FF");
  EXPECT_EQ(formatted("%d", {Value::of_string("a")}),
            "!error during formatting: decimal clause can only be used on integers, was given string");
  EXPECT_EQ(formatted("%", {one}), "!unexpected end of string");
  EXPECT_EQ(formatted("%z", {one}), "!could not parse formatting clause: unrecognized formatting clause \"z\"");
  EXPECT_EQ(formatted("%d %d", {one}), "!index 1 out of range");
  EXPECT_EQ(formatted("%d", {one, one}), "!too many arguments supplied to string.format (expected 1, got 2)");
  EXPECT_EQ(formatted("%.99999999999f", {Value::of_double(1)}).front(), '!');
  EXPECT_EQ(formatted("%.99999999f", {Value::of_double(1)}).front(), '!');
  const Value items[] = {Value::of_double(1),
                         Value::of_string("a\""),
                         Value::of_bytes("z"),
                         Value::null(),
                         Value::of_duration(90'000'000'000),
                         Value::of_double(std::nan(""))};
  const ListRep list{items, 6};
  EXPECT_EQ(formatted("%s", {Value::of_list(&list)}),
            "[1.000000, \"a\\\"\", b\"z\", null, duration(\"90s\"), \"NaN\"]");
}

TEST(Format, NestingAndSizeAreBounded) {
  std::vector<ListRep> nest(100'000);
  std::vector<Value> values(nest.size());
  for (size_t i = 1; i < nest.size(); ++i) {
    values[i] = Value::of_list(&nest[i - 1]);
    nest[i] = {&values[i], 1};
  }
  EXPECT_EQ(formatted("%s", {Value::of_list(&nest.back())}).front(), '!');
  const std::string big(60'000, 'x');
  EXPECT_EQ(formatted("%s%s", {Value::of_string(big), Value::of_string(big)}).front(), '!');
}

}  // namespace dra::cel::lib::format_test
