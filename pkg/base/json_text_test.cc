#include "pkg/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "pkg/base/random.h"

namespace dra::json_text_test {
namespace {

using Json = nlohmann::ordered_json;

std::string random_string(Random& random) {
  static const std::vector<std::string> kParts{"a",    "\"",        "\\",           "/", "\n", "\x01", "\x1f",
                                               "\x7f", "h\xc3\xb6", "\xe2\x82\xac", "~ "};
  std::string out;
  for (uint64_t i = random.below(6); i > 0; --i) out += kParts[random.below(kParts.size())];
  return out;
}

// Writes a random value and returns the same as a tree.
Json write_value(JsonText& out, Random& random, int depth) {
  switch (random.below(depth > 0 ? 7 : 5)) {
    case 0:
      out.null();
      return nullptr;
    case 1: {
      const bool truth = random.below(2) == 1;
      out.value(truth);
      return truth;
    }
    case 2: {
      const auto number = static_cast<int64_t>(random.next());
      out.value(number);
      return number;
    }
    case 3:
      out.raw("[1.50,{}]");
      return Json::array({1.5, Json::object()});
    case 4: {
      const std::string text = random_string(random);
      out.value(text);
      return text;
    }
    case 5: {
      Json list = Json::array();
      out.array([&] {
        for (uint64_t i = random.below(4); i > 0; --i) list.push_back(write_value(out, random, depth - 1));
      });
      return list;
    }
    default: {
      Json object = Json::object();
      out.object([&] {
        for (uint64_t i = random.below(4); i > 0; --i) {
          const std::string name = random_string(random) + std::to_string(i);
          out.key(name);
          object[name] = write_value(out, random, depth - 1);
        }
      });
      return object;
    }
  }
}

TEST(JsonTextTest, RandomTreesAreWhatAWholeJsonLibraryWrites) {
  SeededRandom random(1);
  for (int i = 0; i < 5'000; ++i) {
    JsonText out;
    std::string expected = write_value(out, random, 5).dump();
    for (size_t at; (at = expected.find("[1.5,{}]")) != std::string::npos;) expected.replace(at, 8, "[1.50,{}]");
    ASSERT_EQ(out.text(), expected);
  }
}

TEST(JsonTextTest, MembersOfEachKind) {
  JsonText out;
  out.object([&] {
    out.member("s", "text");
    out.member("n", -1);
    out.member("b", true);
    out.null("z");
    out.raw("r", "1e400");
    out.object("o", [&] { out.array("a", [] {}); });
    out.member("min", INT64_MIN);
  });
  EXPECT_EQ(std::move(out).text(),
            R"({"s":"text","n":-1,"b":true,"z":null,"r":1e400,"o":{"a":[]},"min":-9223372036854775808})");
}

TEST(JsonTextTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  JsonText out;
  out.object([&] { out.member("k\xff", "broken\xff\xc3"); });
  EXPECT_EQ(out.text(), "{\"k\xEF\xBF\xBD\":\"broken\xEF\xBF\xBD\xEF\xBF\xBD\"}");
  EXPECT_TRUE(Json::accept(out.text()));
}

}  // namespace
}  // namespace dra::json_text_test
