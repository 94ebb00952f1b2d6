#include "pkg/api/decode/wire_value.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "pkg/api/decode/json_repair.h"
#include "pkg/api/decode/protobuf_document.h"
#include "pkg/base/random.h"

namespace dra::api::detail {
namespace {

namespace dom = simdjson::dom;

static_assert(sizeof(dom::element) == 16 && alignof(dom::element) <= 8);
static_assert(std::is_trivially_copyable_v<dom::element>);

dom::element element_of(const std::byte* storage) {
  dom::element element;
  std::memcpy(static_cast<void*>(&element), storage, sizeof(element));
  return element;
}

// Parsers keep their buffers; a few small ones per thread are worth keeping, a big one is not.
// A parser keeps about 14 bytes for each byte of the longest text it has read.
constexpr size_t kKeptCapacity = size_t{64} << 10;
constexpr size_t kFirstCapacity = 4096;
constexpr size_t kKeptParsers = 4;

// kube-apiserver reads (and so stores) JSON nested up to 10,000 deep (encoding/json); a list adds two levels.
constexpr size_t kMaxDepth = 10'240;

// Marks numbers that no C++ number holds. Nobody outside this process can know it, so no object can contain it.
const std::string& number_tag() {
  static const std::string tag = "number-" + SeededRandom(entropy_seed()).uuid() + ":";
  return tag;
}

// Errors about a value in well-formed JSON that the parser cannot represent. (Malformed JSON stays so when repaired.)
bool is_about_a_value(simdjson::error_code code) {
  return code == simdjson::NUMBER_ERROR || code == simdjson::UTF8_ERROR || code == simdjson::STRING_ERROR;
}

}  // namespace

WireValue::Kind WireValue::kind() const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::kind(*this);
  switch (element_of(storage_).type()) {
    case dom::element_type::ARRAY:
      return Kind::kArray;
    case dom::element_type::OBJECT:
      return Kind::kObject;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
      return Kind::kNumber;
    case dom::element_type::STRING:
      return Kind::kString;
    case dom::element_type::BOOL:
      return Kind::kBool;
    case dom::element_type::NULL_VALUE:
      return Kind::kNull;
  }
  return Kind::kNull;
}

std::string_view WireValue::kind_name() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "boolean";
    case Kind::kNumber:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
  }
  return "unknown";
}

bool WireValue::get(bool& out) const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::get(*this, out);
  return element_of(storage_).get(out) == simdjson::SUCCESS;
}

bool WireValue::get(int64_t& out) const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::get(*this, out);
  return element_of(storage_).get(out) == simdjson::SUCCESS;
}

bool WireValue::get(double& out) const {
  if (protobuf_type_ != nullptr) return false;
  return element_of(storage_).get(out) == simdjson::SUCCESS;
}

bool WireValue::get(std::string_view& out) const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::get(*this, out);
  return element_of(storage_).get(out) == simdjson::SUCCESS;
}

bool WireValue::find(std::string_view key, WireValue& out) const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::find(*this, key, out);
  dom::object object;
  if (element_of(storage_).get(object) != simdjson::SUCCESS) return false;
  dom::element member;
  if (object.at_key(key).get(member) != simdjson::SUCCESS) return false;
  std::memcpy(out.storage_, static_cast<const void*>(&member), sizeof(member));
  out.protobuf_type_ = nullptr;
  return true;
}

size_t WireValue::size() const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::size(*this);
  dom::element element = element_of(storage_);
  dom::array array;
  if (element.get(array) == simdjson::SUCCESS) return array.size();
  dom::object object;
  if (element.get(object) == simdjson::SUCCESS) return object.size();
  return 0;
}

bool WireValue::is_json_object(size_t& members) const {
  dom::object object;
  if (element_of(storage_).get(object) != simdjson::SUCCESS) return false;
  members = object.size();
  return true;
}

std::string_view WireValue::unknown_number() const {
  return protobuf_type_ != nullptr ? ProtobufDocument::unknown_number(*this) : std::string_view();
}

bool WireValue::each_element_impl(ElementVisitor visitor, void* context) const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::each_element(*this, visitor, context);
  dom::array array;
  if (element_of(storage_).get(array) != simdjson::SUCCESS) return true;
  for (dom::element element : array) {
    WireValue value;
    std::memcpy(value.storage_, static_cast<const void*>(&element), sizeof(element));
    if (!visitor(context, value)) return false;
  }
  return true;
}

bool WireValue::each_member_impl(MemberVisitor visitor, void* context) const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::each_member(*this, visitor, context);
  dom::object object;
  if (element_of(storage_).get(object) != simdjson::SUCCESS) return true;
  for (dom::key_value_pair member : object) {
    WireValue value;
    std::memcpy(value.storage_, static_cast<const void*>(&member.value), sizeof(member.value));
    if (!visitor(context, member.key, value)) return false;
  }
  return true;
}

std::string WireValue::raw() const {
  if (protobuf_type_ != nullptr) return ProtobufDocument::raw(*this);
  return with_numbers_back(simdjson::minify(element_of(storage_)), number_tag());
}

struct JsonDocument::Parser {
  dom::parser parser;

  // Grows the parser's buffers for `bytes`, with space for the depth; the parser itself would limit that to 1,024.
  simdjson::error_code parse(std::string_view text, dom::element& root) {
    if (parser.max_depth() < kMaxDepth) {
      const simdjson::error_code code = parser.allocate(std::max(text.size(), kFirstCapacity), kMaxDepth);
      if (code != simdjson::SUCCESS) return code;
    }
    return parser.parse(text.data(), text.size()).get(root);
  }

  // Null at the end of the thread: documents of static objects live longer than the pool.
  static std::vector<std::unique_ptr<Parser>>* pool() {
    thread_local bool ended = false;
    struct Pool {
      std::vector<std::unique_ptr<Parser>> kept;
      ~Pool() { ended = true; }
    };
    if (ended) return nullptr;
    thread_local Pool pool;
    return &pool.kept;
  }
};

std::unique_ptr<JsonDocument::Parser> JsonDocument::take_parser() {
  auto* pool = Parser::pool();
  if (pool == nullptr || pool->empty()) return std::make_unique<Parser>();
  std::unique_ptr<Parser> parser = std::move(pool->back());
  pool->pop_back();
  return parser;
}

JsonDocument::JsonDocument(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

JsonDocument::~JsonDocument() {
  if (!parser_) return;
  auto* pool = Parser::pool();
  if (pool != nullptr && pool->size() < kKeptParsers && parser_->parser.capacity() <= kKeptCapacity)
    pool->push_back(std::move(parser_));
}

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
  JsonDocument document(text.size() <= kKeptCapacity ? take_parser() : std::make_unique<Parser>());
  dom::element root;
  simdjson::error_code code = document.parser_->parse(text, root);
  if (is_about_a_value(code)) code = document.parser_->parse(with_plain_values(text, number_tag()), root);
  if (code != simdjson::SUCCESS) {
    return fail(Code::kInvalidArgument, std::string("not valid JSON: ") + simdjson::error_message(code));
  }
  std::memcpy(document.root_.storage_, static_cast<const void*>(&root), sizeof(root));
  return document;
}

}  // namespace dra::api::detail
