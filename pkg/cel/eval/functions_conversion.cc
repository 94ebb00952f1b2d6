// Conversions and size(): cel-go common/types, common/stdlib.
#include "pkg/base/utf8.h"
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/net.h"
#include "pkg/cel/lib/number.h"
#include "pkg/cel/lib/time.h"

namespace dra::cel {
namespace {

Value same(EvalContext&, const Value* a) {
  return a[0];
}

Value int_overflow(EvalContext& c) {
  return c.fail(RuntimeCategory::kOverflow, "integer overflow");
}
Value uint_overflow(EvalContext& c) {
  return c.fail(RuntimeCategory::kOverflow, "unsigned integer overflow");
}

Value string_to_bool(EvalContext& c, const Value* a) {
  auto v = lib::parse_bool(a[0].str());
  return v ? Value::of_bool(*v) : conversion_error(c, a[0], "bool");
}
Value string_to_bytes(EvalContext&, const Value* a) {
  return Value::of_bytes(a[0].str());
}
Value int_to_double(EvalContext&, const Value* a) {
  return Value::of_double(static_cast<double>(a[0].i));
}
Value uint_to_double(EvalContext&, const Value* a) {
  return Value::of_double(static_cast<double>(a[0].u));
}
Value string_to_double(EvalContext& c, const Value* a) {
  if (!c.spend(a[0].length / 4)) return aborted(c);  // it is rewritten first
  auto v = lib::parse_double(a[0].str());
  return v ? Value::of_double(*v) : conversion_error(c, a[0], "double");
}
Value int_to_duration(EvalContext& c, const Value* a) {
  return conversion_error(c, a[0], "google.protobuf.Duration");
}
Value string_to_duration(EvalContext& c, const Value* a) {
  auto v = lib::parse_duration(a[0].str());
  return v ? Value::of_duration(*v) : conversion_error(c, a[0], "google.protobuf.Duration");
}
Value double_to_int(EvalContext& c, const Value* a) {
  auto v = lib::double_to_int(a[0].d);
  return v ? Value::of_int(*v) : int_overflow(c);
}
Value string_to_int(EvalContext& c, const Value* a) {
  auto v = lib::parse_int(a[0].str());
  return v ? Value::of_int(*v) : conversion_error(c, a[0], "int");
}
Value duration_to_int(EvalContext&, const Value* a) {
  return Value::of_int(a[0].i);
}
Value uint_to_int(EvalContext& c, const Value* a) {
  return a[0].u > INT64_MAX ? int_overflow(c) : Value::of_int(static_cast<int64_t>(a[0].u));
}
Value double_to_uint(EvalContext& c, const Value* a) {
  auto v = lib::double_to_uint(a[0].d);
  return v ? Value::of_uint(*v) : uint_overflow(c);
}
Value int_to_uint(EvalContext& c, const Value* a) {
  return a[0].i < 0 ? uint_overflow(c) : Value::of_uint(static_cast<uint64_t>(a[0].i));
}
Value string_to_uint(EvalContext& c, const Value* a) {
  auto v = lib::parse_uint(a[0].str());
  return v ? Value::of_uint(*v) : conversion_error(c, a[0], "uint");
}
// Every kind whose bare text is its string() form.
Value to_string(EvalContext& c, const Value* a) {
  return c.string(bare_text(a[0]));
}
Value bytes_to_string(EvalContext& c, const Value* a) {
  if (!is_valid_utf8(a[0].str())) {
    return c.fail(RuntimeCategory::kConversion, "invalid UTF-8 in bytes, cannot convert to string");
  }
  return Value::of_string(a[0].str());
}
Value int_to_timestamp(EvalContext& c, const Value* a) {
  if (a[0].i < lib::kMinTimestampSeconds || a[0].i > lib::kMaxTimestampSeconds) {
    return c.fail(RuntimeCategory::kOverflow, "timestamp overflow");
  }
  return Value::of_timestamp(a[0].i, 0, 0);
}
Value string_to_timestamp(EvalContext& c, const Value* a) {
  auto v = lib::parse_timestamp(a[0].str());
  return v ? Value::of_timestamp(v->seconds, v->nanos, v->offset_minutes)
           : conversion_error(c, a[0], "google.protobuf.Timestamp");
}
Value type_of(EvalContext&, const Value* a) {
  return Value::of_type(type_name(a[0]));
}

Value size_of(EvalContext&, const Value* a) {
  switch (a[0].kind) {
    case Kind::kString:
      return Value::of_int(static_cast<int64_t>(string_size(a[0])));
    case Kind::kBytes:
      return Value::of_int(a[0].length);
    case Kind::kList:
      return Value::of_int(a[0].list->size);
    default:
      return Value::of_int(a[0].map->size);
  }
}

}  // namespace

void add_conversion_specs(SpecList& out) {
  const OverloadSpec specs[] = {
      {"bool", "bool_to_bool", "(bool) bool", same},
      {"bool", "string_to_bool", "(string) bool", string_to_bool},
      {"bytes", "bytes_to_bytes", "(bytes) bytes", same},
      {"bytes", "string_to_bytes", "(string) bytes", string_to_bytes, CostRule::kStringTenth},
      {"double", "double_to_double", "(double) double", same},
      {"double", "int64_to_double", "(int) double", int_to_double},
      {"double", "string_to_double", "(string) double", string_to_double},
      {"double", "uint64_to_double", "(uint) double", uint_to_double},
      {"duration", "duration_to_duration", "(duration) duration", same},
      {"duration", "int64_to_duration", "(int) duration", int_to_duration, CostRule::kOne, kOnly136},
      {"duration", "string_to_duration", "(string) duration", string_to_duration},
      {"dyn", "to_dyn", "(<A>) dyn", same},
      {"int", "int64_to_int64", "(int) int", same},
      {"int", "double_to_int64", "(double) int", double_to_int},
      {"int", "duration_to_int64", "(duration) int", duration_to_int},
      {"int", "string_to_int64", "(string) int", string_to_int},
      {"int", "timestamp_to_int64", "(timestamp) int", duration_to_int},
      {"int", "uint64_to_int64", "(uint) int", uint_to_int},
      {"string", "string_to_string", "(string) string", same},
      {"string", "bool_to_string", "(bool) string", to_string},
      {"string", "bytes_to_string", "(bytes) string", bytes_to_string, CostRule::kStringTenth},
      {"string", "double_to_string", "(double) string", to_string},
      {"string", "duration_to_string", "(duration) string", to_string},
      {"string", "int64_to_string", "(int) string", to_string},
      {"string", "timestamp_to_string", "(timestamp) string", to_string},
      {"string", "uint64_to_string", "(uint) string", to_string},
      {"string", "ip_to_string", "(IP) string", to_string},
      {"string", "cidr_to_string", "(CIDR) string", to_string},
      {"timestamp", "timestamp_to_timestamp", "(timestamp) timestamp", same},
      {"timestamp", "int64_to_timestamp", "(int) timestamp", int_to_timestamp},
      {"timestamp", "string_to_timestamp", "(string) timestamp", string_to_timestamp},
      {"type", "type", "(<A>) type(<A>)", type_of},
      {"uint", "uint64_to_uint64", "(uint) uint", same},
      {"uint", "double_to_uint64", "(double) uint", double_to_uint},
      {"uint", "int64_to_uint64", "(int) uint", int_to_uint},
      {"uint", "string_to_uint64", "(string) uint", string_to_uint},
      {"size", "size_bytes", "(bytes) int", size_of},
      {"size", "bytes_size", "bytes.() int", size_of},
      {"size", "size_list", "(list(<A>)) int", size_of},
      {"size", "list_size", "list(<A>).() int", size_of},
      {"size", "size_map", "(map(<A>, <B>)) int", size_of},
      {"size", "map_size", "map(<A>, <B>).() int", size_of},
      {"size", "size_string", "(string) int", size_of},
      {"size", "string_size", "string.() int", size_of},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
}

}  // namespace dra::cel
