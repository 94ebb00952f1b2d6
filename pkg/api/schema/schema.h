// Schemas: the shapes of kinds as tables, one for each group and version.
//
// One table drives everything that depends on a kind's fields. The client reads protobuf by the field numbers
// (pkg/api/decode/protobuf_document.h). The embedded API server uses the rest: strict decoding (unknown and duplicate
// fields, type mismatches), normalisation (what Go's `omitempty` drops or prints), protobuf requests and responses, the
// merge keys of strategic merge patch, the list types of server-side apply, and the OpenAPI documents. The facts come
// from staging/src/k8s.io/api (generated.proto numbers, json tags, patchStrategy, listType).
//
// Table text: one paragraph per type; each further line is `<protobuf number> <json name> <type> [flags]`:
//
//     type PodSpec
//     1 volumes []Volume map=name merge=name,retainKeys
//     2 containers []Container ! map=name merge=name
//     7 nodeSelector map[string]string atomic
//     4 terminationGracePeriodSeconds *int64
//     39 resourceClaims []PodResourceClaim map=name merge=name,retainKeys
//
//     type LabelSelector atomic
//
// `extend T` adds fields to a type of the same package that an earlier table defines: what a later release added.
//
// Types: string int32 int64 bool double bytes Time MicroTime Quantity IntOrString Raw (any JSON, a RawExtension) Fields
// (FieldsV1), Verb... or a type's name; `*T` pointer, `[]T` list, `map[string]T` map. A type of the same package is
// named bare, others in full ("meta/v1.ObjectMeta", "core/v1.PodSpec"); bare names fall back to meta/v1.
// Flags: `!` always present in output (no omitempty: null list or map, "" string, 0 number, {} struct);
//   `atomic` `set` `map=k1,k2` list type for apply (default atomic for lists; structs and maps default to granular);
//   `merge` or `merge=key` patchStrategy merge (primitives without key), `retainKeys` beside it;
//   `default=TEXT` of a map key that may be absent (protocol of a port);
//   `inline` the struct's fields appear in the parent's JSON, though protobuf nests them.
// Presence rule: `*T` keeps what was sent unless null; a plain value without `!` is dropped when it is zero or empty;
// a plain struct (no `*`) is always printed unless flagged `omitzero`.
//
// Schemas are immutable once registered and may be read from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::api::schema {

enum class FieldType {
  kString,
  kInt32,
  kInt64,
  kBool,
  kDouble,
  kBytes,
  kTime,
  kMicroTime,
  kQuantity,
  kIntOrString,
  kRaw,     // any JSON value
  kFields,  // managedFields' FieldsV1
  kObject,  // a named type: `object`
  kList,    // `element`
  kMap,     // string keys to `element`
};

enum class ListType { kAtomic, kSet, kMap };

struct ObjectType;

// The type of a value, with how lists and maps of it merge.
struct ValueType {
  FieldType type = FieldType::kRaw;
  bool pointer = false;
  const ObjectType* object = nullptr;        // kObject
  std::shared_ptr<const ValueType> element;  // kList, kMap
};

struct Field {
  int number = 0;  // protobuf
  std::string name;
  ValueType value;
  bool always = false;    // `!`
  bool omitzero = false;  // a struct printed only when not empty
  bool inlined = false;
  bool atomic = false;  // maps and structs: one leaf for apply
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> map_keys;  // list_type kMap
  bool merge = false;                 // strategic merge: merge rather than replace
  bool retain_keys = false;
  std::string merge_key;
  std::string default_text;
};

struct ObjectType {
  std::string package;  // "core/v1"
  std::string name;     // "PodSpec"; Go's error texts say "v1.PodSpec"
  bool atomic = false;
  std::vector<Field> fields;                           // in declaration order, as written
  std::map<std::string, size_t, std::less<>> by_name;  // index in `fields`; detects duplicates
  // Flattened: pointers to all JSON-visible fields by name, inlined structs dissolved. Filled by SchemaSet::link().
  std::map<std::string, const Field*, std::less<>> visible;
  // `fields` in the order of their protobuf numbers. Filled by SchemaSet::link().
  std::vector<const Field*> by_number;
  const Field* find(std::string_view json_name) const;
};

class SchemaSet {
 public:
  // Adds the tables of one package ("core/v1"). The error names the faulty line.
  Result<void> add(std::string_view package, std::string_view table);
  // Resolves names among all added packages; call once, after the last add. The error names the unknown type.
  Result<void> link();
  // nullptr when there is no such type. The package is "resource/v1beta1", "core/v1", "events/v1" ...
  const ObjectType* find(std::string_view package, std::string_view name) const;
  const std::map<std::string, std::unique_ptr<ObjectType>, std::less<>>& types() const { return types_; }

 private:
  std::map<std::string, std::unique_ptr<ObjectType>, std::less<>> types_;            // "core/v1.PodSpec"
  std::vector<std::pair<ValueType*, std::pair<std::string, std::string>>> pending_;  // value, (package, name)
};

// One table: tables.h declares a function for the text of each.
struct SchemaTable {
  std::string_view package;
  std::string_view text;
  // The minor version of the first release that has these types and fields; 0: all supported ones.
  int since = 0;
};

// The tables of the types that the client reads as protobuf: what pods, nodes, claims and slices use of meta/v1,
// core/v1 and resource/v1, v1beta1 and v1beta2.
const std::vector<SchemaTable>& tables_in_use();

// The type of an apiVersion and a kind: ("resource.k8s.io/v1", "ResourceClaim"), ("v1", "Status"). nullptr for lists
// and for types that no table has.
const ObjectType* find_message_type(const SchemaSet& schemas, std::string_view api_version, std::string_view kind);

// Links a set of tables. A table that cannot be read is a bug (DRA_CHECK).
SchemaSet link_tables(const std::vector<SchemaTable>& tables);

}  // namespace dra::api::schema
