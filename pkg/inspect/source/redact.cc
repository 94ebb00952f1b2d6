#include "pkg/inspect/source/redact.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"
#include "pkg/api/quantity.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/protocol/proof.h"

namespace dra::inspect {
namespace {

using api::schema::Field;
using api::schema::FieldType;
using api::schema::ObjectType;
using nlohmann::json;

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= 20 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// What a newer server added: that it is there stays, since decisions read that.
void leave_out(json& value) {
  if (value.is_string()) value = kLeftOut;
  if (value.is_object()) value = value.empty() ? json::object() : json{{kLeftOut, true}};
  if (value.is_array()) value = value.empty() ? json::array() : json::array({kLeftOut});
}

bool nominates(const json& fields) {
  return fields == json{{"f:status", {{"f:nominatedNodeName", json::object()}}}};
}

// A text of an amount or a time: valid ones have nothing of a user's.
void check_shape(json& value, FieldType type) {
  if (!value.is_string()) return leave_out(value);
  const auto& text = value.get_ref<const std::string&>();
  Timestamp time;
  const bool fine = type == FieldType::kQuantity ? api::Quantity::parse(text).has_value() : parse_rfc3339(text, time);
  if (!fine) leave_out(value);
}

// The key that a selector's values belong to.
std::string key_of_values(const json& object, const ObjectType& type) {
  if (type.name != "NodeSelectorRequirement" && type.name != "LabelSelectorRequirement") return "";
  const auto key = object.find("key");
  return key != object.end() && key->is_string() ? key->get<std::string>() : "";
}

}  // namespace

void Redactor::learn(std::string_view plural, const json& object) {
  json copy = object;
  apply(plural, copy);
}

void Redactor::settle() {
  for (const auto& [word, names] : learned_) {
    size_t number = 0;
    for (const std::string& old : names) {
      char text[64];
      const char separator = word == Word::kAttribute || word == Word::kCapacity ? '_' : '-';
      std::snprintf(text, sizeof text, "%s%c%06zu", std::string(prefix_of(word)).c_str(), separator, ++number);
      std::string fresh = text;
      // As the API wants them: a driver is a DNS subdomain, an image without a tag would get one.
      if (word == Word::kDriver || word == Word::kResource) fresh += ".example";
      if (word == Word::kResource) fresh += "/device";
      if (word == Word::kImage) fresh += ":v1";
      renamed_[word].emplace(old, std::move(fresh));
    }
  }
  settled_ = true;
}

void Redactor::apply(std::string_view plural, json& object) {
  const ObjectType* type = redacted_type(plural);
  if (type == nullptr || !object.is_object()) {
    object = json::object();
    return;
  }
  plural_ = plural;
  if (!settled_) note_numbers(object);
  const json before = settled_ && plural == "resourceclaims" ? object : json();
  this->object(object, *type);
  if (!before.is_null()) prove_again(before, object);
}

std::optional<std::string> Redactor::renamed(Word word, std::string_view text) const {
  const auto names = renamed_.find(word);
  if (names == renamed_.end()) return std::nullopt;
  const auto found = names->second.find(text);
  return found == names->second.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> Redactor::renamed_text(std::string_view text) const {
  for (const auto& [word, names] : renamed_)
    if (const auto found = names.find(text); found != names.end())
      return word >= kFirstPublished && !strict_ ? found->first : found->second;
  return std::nullopt;
}

// The values of labels that Gt and Lt compare are numbers and stay numbers.
void Redactor::note_numbers(const json& value) {
  if (value.is_object())
    if (const auto key = value.find("key"); key != value.end() && key->is_string())
      if (const auto how = value.find("operator"); how != value.end() && (*how == "Gt" || *how == "Lt"))
        compared_.insert(key->get<std::string>());
  if (value.is_structured())
    for (const json& part : value) note_numbers(part);
}

void Redactor::object(json& value, const ObjectType& type) {
  if (!value.is_object()) return leave_out(value);
  if (type.name == "OwnerReference") return owner(value);
  const std::string key = key_of_values(value, type);
  for (auto& [name, one] : value.items()) {
    if (name == "apiVersion" || name == "kind")  // of the object itself: the API's words
      if (type.find(name) == nullptr) {
        if (!one.is_string() || !is_api_word(one.get_ref<const std::string&>())) leave_out(one);
        continue;
      }
    const Field* field = redacted_field(type, name);
    field == nullptr ? leave_out(one) : member(one, type, *field, key);
  }
}

void Redactor::member(json& value, const ObjectType& type, const Field& field, std::string_view mentioned_by) {
  if (value.is_null()) return;
  if (type.name == "ObjectMeta" && field.name == "annotations") return annotations(value);
  if (field.value.type == FieldType::kMap) return map(value, type, field);
  Word word = word_of(type, field.name);
  if (word == Word::kObject) word = object_word(plural_);
  this->value(value, field.value, word, mentioned_by);
}

void Redactor::value(json& value, const api::schema::ValueType& type, Word word, std::string_view key) {
  switch (type.type) {
    case FieldType::kObject:
      return object(value, *type.object);
    case FieldType::kList:
      if (!value.is_array()) return leave_out(value);
      for (json& one : value) this->value(one, *type.element, word, key);
      return;
    case FieldType::kString:
      if (!value.is_string()) return leave_out(value);
      value = text(word, value.get<std::string>(), key);
      return;
    case FieldType::kTime:
    case FieldType::kMicroTime:
    case FieldType::kQuantity:
      if (value.is_string()) return check_shape(value, type.type);
      if (value.is_structured()) leave_out(value);
      return;
    case FieldType::kFields:
      if (!nominates(value)) value = json::object();
      return;
    case FieldType::kRaw:
      value = json::object();
      return;
    default:
      if (value.is_string() || value.is_structured()) leave_out(value);
  }
}

void Redactor::map(json& value, const ObjectType& type, const Field& field) {
  if (!value.is_object()) return leave_out(value);
  const Word word = word_of(type, field.name), key_word = key_word_of(type, field.name);
  json out = json::object();
  for (auto& [key, one] : value.items()) {
    this->value(one, *field.value.element, word, key);
    out[text(key_word, key, "")] = std::move(one);
  }
  value = std::move(out);
}

void Redactor::owner(json& reference) {
  static const std::map<std::string_view, Word> kKinds{
      {"Pod", Word::kPod}, {"Node", Word::kNode}, {"ResourceClaim", Word::kClaim}, {"PodGroup", Word::kGroup}};
  const auto kind = reference.find("kind");
  Word word = Word::kOwner;
  if (kind != reference.end() && kind->is_string())
    if (const auto found = kKinds.find(kind->get_ref<const std::string&>()); found != kKinds.end())
      word = found->second;
  for (auto& [field, value] : reference.items()) {
    if (value.is_boolean()) continue;
    if (!value.is_string()) {
      leave_out(value);
      continue;
    }
    const Word of = field == "name"                            ? word
                    : field == "uid"                           ? Word::kUid
                    : field == "kind" || field == "apiVersion" ? Word::kApi
                                                               : Word::kNothing;
    value = text(of, value.get<std::string>(), "");
  }
}

// The hash in the mark is of names that are others now.
void Redactor::prove_again(const json& before, json& after) const {
  const auto mark = [](json& claim) -> json* {
    const json::json_pointer at = json::json_pointer("/metadata/annotations") / std::string(protocol::kProofAnnotation);
    return claim.contains(at) ? &claim[at] : nullptr;
  };
  json* proof = mark(after);
  if (proof == nullptr) return;
  const auto old_claim = api::decode<api::ResourceClaim>(before.dump(-1, ' ', false, json::error_handler_t::replace));
  const auto new_claim = api::decode<api::ResourceClaim>(after.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!old_claim || !new_claim || !old_claim->status.allocation || !new_claim->status.allocation) return;
  if (protocol::bears_mark_of(*old_claim, *old_claim->status.allocation))
    *proof = protocol::proof_value(protocol::proven_for(*new_claim), *new_claim->status.allocation);
}

std::string Redactor::name(Word word, const std::string& old) {
  if (old.empty()) return old;
  if (!settled_) {
    learned_[word].insert(old);
    return old;
  }
  return renamed(word, old).value_or(std::string(kLeftOut));
}

std::string Redactor::text(Word word, const std::string& old, std::string_view key) {
  switch (word) {
    case Word::kNothing:
      return old.empty() ? old : std::string(kLeftOut);
    case Word::kMessage:
      return "";
    case Word::kApi:
      return is_api_word(old) ? old : std::string(kLeftOut);
    case Word::kDigits:
      return old.empty() || is_whole_number(old) ? old : std::string(kLeftOut);
    case Word::kMentioned:
      return key == "metadata.name" ? name(Word::kNode, old) : value_of_key(old, key);
    case Word::kValue:
      return value_of_key(old, key);
    case Word::kEntryOfStatus:
      return entry_of_status(old);
    case Word::kDeviceId:
      return device_id(old);
    case Word::kRequest:
      return request(old);
    case Word::kImage:
      return image(old);
    case Word::kGate:
    case Word::kScheduler:
    case Word::kPriority:
    case Word::kManager:
    case Word::kCondition:
    case Word::kAddress:
    case Word::kKey:
      return is_known_key(old) ? old : name(word, old);
    default:
      return word >= kFirstPublished ? published(word, old) : name(word, old);
  }
}

// Nodes carry their name in a label, groups theirs in a label of pods.
std::string Redactor::value_of_key(const std::string& old, std::string_view key) {
  if (key.starts_with("dra-controller-manager/") && (is_api_word(old) || old == "enabled" || old == "disabled"))
    return old;
  if (compared_.contains(key) && is_whole_number(old)) return old;
  if (key == protocol::kManagerLabel && old == protocol::kManagerName) return old;
  if (key == protocol::kGroupLabel) return name(Word::kGroup, old);
  const std::string fresh = name(Word::kValue, old);
  if (!settled_ || key != "kubernetes.io/hostname") return fresh;
  return renamed(Word::kNode, old).value_or(fresh);
}

std::string Redactor::request(const std::string& old) {
  // The scheduler's own names for the requests of extended resources, which answers read.
  int container = 0, number = 0, end = 0;
  if (std::sscanf(old.c_str(), "container-%4d-request-%4d%n", &container, &number, &end) == 2 &&
      static_cast<size_t>(end) == old.size())
    return old;
  const size_t slash = old.find('/');
  if (slash == std::string::npos) return name(Word::kRequest, old);
  return name(Word::kRequest, old.substr(0, slash)) + "/" + name(Word::kRequest, old.substr(slash + 1));
}

// Nodes always list a tag or a digest, pods may leave it out.
std::string Redactor::image(const std::string& old) {
  if (old.empty()) return old;
  const size_t slash = old.rfind('/'), colon = old.rfind(':');
  const bool tagged = old.find('@') != std::string::npos ||
                      (colon != std::string::npos && (slash == std::string::npos || colon > slash));
  return name(Word::kImage, tagged ? old : old + ":latest");
}

// "claim:entry" and "claim:entry/request"; otherwise the name of a resource.
std::string Redactor::entry_of_status(const std::string& old) {
  constexpr std::string_view kClaimOf = "claim:";
  if (!old.starts_with(kClaimOf)) return published(Word::kResource, old);
  const std::string rest = old.substr(kClaimOf.size());
  const size_t slash = rest.find('/');
  return std::string(kClaimOf) + name(Word::kEntry, rest.substr(0, slash)) +
         (slash == std::string::npos ? "" : "/" + request(rest.substr(slash + 1)));
}

std::string Redactor::device_id(const std::string& old) {
  const size_t first = old.find('/'), second = first == std::string::npos ? first : old.find('/', first + 1);
  if (second == std::string::npos || old.find('/', second + 1) != std::string::npos) return std::string(kLeftOut);
  if (!settled_) return old;  // only what slices publish
  const std::string driver = old.substr(0, first), device = old.substr(second + 1);
  const auto pool = renamed(Word::kPool, old.substr(first + 1, second - first - 1));
  const bool known = learned_.contains(Word::kDriver) && learned_.at(Word::kDriver).contains(driver) &&
                     learned_.contains(Word::kDevice) && learned_.at(Word::kDevice).contains(device);
  if (!pool || !known) return std::string(kLeftOut);
  return published(Word::kDriver, driver) + "/" + *pool + "/" + published(Word::kDevice, device);
}

}  // namespace dra::inspect
