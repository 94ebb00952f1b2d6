// PATCH bodies: JSON patch, merge patch, strategic merge patch and apply configurations. Internal to this package.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

class Patch {
 public:
  enum class Type { kJson, kMerge, kStrategic, kApply };
  // By Content-Type and body. 415 for other types, 400 for malformed bodies, 413 for oversized ones.
  static StatusOr<Patch> parse(Call& call);

  bool is_apply() const { return type_ == Type::kApply; }
  // JSON and merge patches work on text and keep what they do not touch; the others sort the keys of all objects.
  bool keeps_key_order() const { return type_ == Type::kJson || type_ == Type::kMerge; }
  // The patched object, decoded in the call's version. `current` is null only for apply patches of absent objects.
  StatusOr<Json> run(const Env& env, Call& call, const Json* current) const;

  // A JSON or merge patch of a document without a schema (Scale); strategic patches merge like merge patches.
  StatusOr<Json> run_plain(Json document) const;
  // The same of a document of another kind than the call's (Scale), decoded: what does not fit is a 422 about the
  // patch.
  StatusOr<Json> run_typed(Call& call, const BodyKind& type, Json document) const;

 private:
  // The type that the patched text names: another served version of the kind is converted. 400 is an answer of its own,
  // everything else is a fault of the patch.
  StatusOr<void> name_type(const Call& call, const Json& patched, BodyKind& named) const;

  Type type_ = Type::kMerge;
  std::shared_ptr<const Json> body_;
  std::string text_;
  std::vector<std::string> duplicates_;
};

}  // namespace dra::apiserver
