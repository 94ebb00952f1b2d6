// Any bytes as YAML. Beyond not crashing, it must hold that
//  - an error names a line, or is about the whole text,
//  - recording duplicate keys and positions does not change the result; refusing duplicates fails if there are any,
//  - the result, emitted and read again, is the same,
//  - the output is not much larger than aliases and the text allow.
#include <nlohmann/json.hpp>

#include "pkg/yaml/yaml.h"
#include "test/fuzz/seed_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dra;
  if (size > 64 * 1024) return 0;
  const std::string text = fuzz::seed_text(data, size);
  std::vector<std::string> twice;
  yaml::Options noting;
  noting.duplicate_keys = &twice;
  auto documents = yaml::parse_all(text, noting);
  if (!documents) {
    REQUIRE(!documents.error().message().empty());
    return 0;
  }
  auto refusing = yaml::parse_all(text, {.refuse_duplicate_keys = true});
  REQUIRE(refusing.has_value() == twice.empty());
  if (documents->size() > 1) return 0;
  yaml::Positions positions;
  auto one = yaml::parse_with_positions(text, positions);
  REQUIRE(one.has_value());
  if (documents->empty()) return 0;
  REQUIRE(*one == documents->front());
  const std::string json = one->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  REQUIRE(json.size() <= (size_t{16} << 20) * 8 + 8 * text.size());
  if (json.size() > 64 * 1024) return 0;
  const nlohmann::json clean = nlohmann::json::parse(json);
  auto again = yaml::parse(yaml::emit(clean), {.max_depth = 2000});
  REQUIRE(again.has_value());
  REQUIRE(*again == clean);
  return 0;
}
