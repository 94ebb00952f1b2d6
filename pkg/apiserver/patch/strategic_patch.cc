// Strategic merge patch by the rules of k8s.io/apimachinery/pkg/util/strategicpatch: directives, merge keys, and new
// list elements in front of the existing ones unless $setElementOrder says otherwise.
#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/patch/patch.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

std::string go_value_text(const Json& v) {
  if (v.is_object()) {
    std::string out = "map[";
    bool first = true;
    for (const auto& [key, value] : v.items()) {
      if (!first) out += " ";
      first = false;
      out += key + ":" + go_value_text(value);
    }
    return out + "]";
  }
  if (v.is_array()) {
    std::string out = "[";
    for (size_t i = 0; i < v.size(); ++i) out += (i > 0 ? " " : "") + go_value_text(v[i]);
    return out + "]";
  }
  return v.is_string() ? v.get<std::string>() : v.dump();
}

namespace {

constexpr std::string_view kDeletePrimitive = "$deleteFromPrimitiveList/";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDirective = "$patch";

Status missing_merge_key(const Json& item, const std::string& key) {
  return plain_error("map: " + go_value_text(item) + " does not contain declared merge key: " + key);
}

// The schema's rules for one member.
struct MemberRules {
  bool merge = false;
  bool retain_keys = false;
  std::string merge_key;
  const ObjectType* element = nullptr;  // of the member, or of its elements
};

MemberRules rules_of(const ObjectType* type, const std::string& name) {
  MemberRules out;
  const Field* f = type == nullptr ? nullptr : type->find(name);
  if (f == nullptr) return out;
  out.merge = f->merge;
  out.retain_keys = f->retain_keys;
  out.merge_key = f->merge_key;
  const ValueType* v = &f->value;
  if (v->element) v = v->element.get();
  out.element = v->object;
  return out;
}

// Lists may have tens of thousands of elements: each is looked up, none is searched for.
class StrategicMerger {
 public:
  StatusOr<Json> object(Json target, const Json& patch, const ObjectType* type) {
    auto directive = patch.find(kDirective);
    if (directive != patch.end()) {
      if (*directive == "replace") {
        Json out = patch;
        out.erase(std::string(kDirective));
        return out;
      }
      if (*directive == "delete") return Json::object();
      if (*directive != "merge") {
        return fail_status(plain_error("unknown patch type found: " + go_value_text(*directive)));
      }
    }
    auto retain = patch.find(kRetainKeys);
    if (retain != patch.end() && retain->is_array()) {
      const std::set<Json> kept(retain->begin(), retain->end());
      for (auto it = target.begin(); it != target.end();)
        it = kept.contains(Json(it.key())) ? std::next(it) : target.erase(it);
    }
    // Directives for lists come first: an order or a deletion may occur without the list itself.
    for (const auto& [key, value] : patch.items()) {
      if (key.starts_with(kDeletePrimitive)) delete_primitives(target, key.substr(kDeletePrimitive.size()), value);
    }
    for (const auto& [key, value] : patch.items()) {
      if (key.starts_with("$")) continue;
      if (auto ok = member(target, key, value, patch, type); !ok) return fail_status(ok.error());
    }
    for (const auto& [key, value] : patch.items()) {
      if (!key.starts_with(kElementOrder)) continue;
      const std::string list = key.substr(kElementOrder.size());
      if (!patch.contains(list) && target.contains(list)) {
        reorder(target[list], value, rules_of(type, list).merge_key);
      }
    }
    return target;
  }

 private:
  static void delete_primitives(Json& target, const std::string& name, const Json& values) {
    auto list = target.find(name);
    if (list == target.end() || !list->is_array() || !values.is_array()) return;
    const std::set<Json> deleted(values.begin(), values.end());
    Json kept = Json::array();
    for (auto& v : *list)
      if (!deleted.contains(v)) kept.push_back(v);
    *list = std::move(kept);
  }

  StatusOr<void> member(Json& target, const std::string& key, const Json& value, const Json& patch,
                        const ObjectType* type) {
    if (value.is_null()) {
      target.erase(key);
      return {};
    }
    const MemberRules rules = rules_of(type, key);
    auto existing = target.find(key);
    if (value.is_object()) {
      Json base = existing != target.end() && existing->is_object() ? *existing : Json::object();
      auto merged = object(std::move(base), value, rules.element);
      if (!merged) return fail_status(merged.error());
      target[key] = std::move(*merged);
      return {};
    }
    if (value.is_array() && rules.merge) {
      Json base = existing != target.end() && existing->is_array() ? *existing : Json::array();
      auto order = patch.find(std::string(kElementOrder) + key);
      auto merged = rules.merge_key.empty() ? primitives(std::move(base), value) : keyed(std::move(base), value, rules);
      if (!merged) return fail_status(merged.error());
      // Without an explicit order the patch's elements keep theirs.
      if (order != patch.end()) {
        reorder(*merged, *order, rules.merge_key);
      } else if (!rules.merge_key.empty()) {
        reorder(*merged, value, rules.merge_key);
      }
      target[key] = std::move(*merged);
      return {};
    }
    target[key] = value.is_array() ? without_directives(value) : value;
    return {};
  }

  // A replacing list may still have {"$patch":"replace"} among its elements.
  static Json without_directives(const Json& list) {
    Json out = Json::array();
    for (const auto& item : list) {
      if (item.is_object() && item.size() == 1 && item.contains(kDirective)) continue;
      out.push_back(item);
    }
    return out;
  }

  static StatusOr<Json> primitives(Json base, const Json& patch) {
    Json fresh = Json::array();
    std::set<Json> known(base.begin(), base.end());
    for (const auto& v : patch)
      if (known.insert(v).second) fresh.push_back(v);
    for (auto& v : base) fresh.push_back(std::move(v));
    return fresh;
  }

  // The positions of elements by key. Stored lists may have several of one key: the first is meant.
  static std::map<Json, std::deque<size_t>> positions(const Json& list, const std::string& merge_key) {
    std::map<Json, std::deque<size_t>> found;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_object()) continue;
      if (const auto key = list[i].find(merge_key); key != list[i].end()) found[*key].push_back(i);
    }
    return found;
  }

  StatusOr<Json> keyed(Json base, const Json& patch, const MemberRules& rules) {
    const std::string& merge_key = rules.merge_key;
    for (const auto& item : patch) {
      if (item.is_object() && item.value(kDirective, Json()) == "replace") return replacement(patch);
    }
    auto known = positions(base, merge_key);
    std::set<size_t> deleted;
    Json fresh = Json::array();
    for (const auto& item : patch) {
      if (!item.is_object()) return fail_status(plain_error("list element is not an object: " + go_value_text(item)));
      auto key = item.find(merge_key);
      if (key == item.end()) return fail_status(missing_merge_key(item, merge_key));
      const Json directive = item.value(kDirective, Json());
      const auto existing = known.find(*key);
      const bool exists = existing != known.end() && !existing->second.empty();
      if (directive == "delete") {
        if (!exists) continue;
        deleted.insert(existing->second.front());
        existing->second.pop_front();
        continue;
      }
      if (!directive.is_null() && directive != "merge") {
        return fail_status(plain_error("unknown patch type found: " + go_value_text(directive)));
      }
      Json start = exists ? base[existing->second.front()] : Json::object();
      auto merged = object(std::move(start), item, rules.element);
      if (!merged) return fail_status(merged.error());
      if (exists) {
        base[existing->second.front()] = std::move(*merged);
      } else {
        fresh.push_back(std::move(*merged));
      }
    }
    for (size_t i = 0; i < base.size(); ++i)
      if (!deleted.contains(i)) fresh.push_back(std::move(base[i]));
    return fresh;
  }

  static Json replacement(const Json& patch) {
    Json out = Json::array();
    for (const auto& item : patch) {
      if (item.is_object() && item.contains(kDirective)) continue;
      out.push_back(item);
    }
    return out;
  }

  // Elements named by the order follow it; the others keep their position relative to adjacent elements.
  static void reorder(Json& list, const Json& order, const std::string& merge_key) {
    if (!order.is_array() || !list.is_array()) return;
    auto key_of_item = [&](const Json& item) {
      if (merge_key.empty() || !item.is_object()) return item;
      return item.value(merge_key, Json());
    };
    std::map<Json, size_t> ranks;
    for (size_t i = 0; i < order.size(); ++i) ranks.try_emplace(key_of_item(order[i]), i);
    auto rank = [&](const Json& item) -> std::optional<size_t> {
      const auto found = ranks.find(key_of_item(item));
      return found == ranks.end() ? std::nullopt : std::optional<size_t>(found->second);
    };
    std::vector<std::pair<size_t, Json>> ordered;
    std::vector<std::pair<size_t, Json>> server_only;  // with the number of ordered ones before each
    size_t seen = 0;
    for (auto& item : list) {
      if (auto r = rank(item)) {
        ordered.emplace_back(*r, std::move(item));
        ++seen;
      } else {
        server_only.emplace_back(seen, std::move(item));
      }
    }
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Json out = Json::array();
    size_t next = 0;
    for (size_t i = 0; i <= ordered.size(); ++i) {
      while (next < server_only.size() && server_only[next].first <= i)
        out.push_back(std::move(server_only[next++].second));
      if (i < ordered.size()) out.push_back(std::move(ordered[i].second));
    }
    list = std::move(out);
  }
};

}  // namespace

StatusOr<Json> apply_strategic_patch(const Json& target, const Json& patch, const ObjectType* type) {
  StrategicMerger merger;
  if (type != nullptr) return merger.object(target, patch, type);
  // Without a schema for the kind, its metadata still merges by ObjectMeta's rules.
  const auto meta = patch.find("metadata");
  Json rest = patch;
  Json merged_meta = target.value("metadata", Json::object());
  if (meta != patch.end() && meta->is_object()) {
    auto merged = merger.object(merged_meta, *meta, builtin_schemas().find("meta/v1", "ObjectMeta"));
    if (!merged) return merged;
    merged_meta = std::move(*merged);
    rest.erase("metadata");
  }
  auto out = merger.object(target, rest, nullptr);
  if (out) (*out)["metadata"] = std::move(merged_meta);
  return out;
}

}  // namespace dra::apiserver
