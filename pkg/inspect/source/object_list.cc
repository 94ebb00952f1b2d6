#include "pkg/inspect/source/object_list.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/protocol/keep.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepthOfTimes = 12;  // conditions and managed fields are less deep

std::string string_in_object(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The latest time that the API server or a component wrote into the object.
void find_latest(const json& value, Timestamp& latest, size_t depth) {
  static const std::vector<std::string_view> kKeys{"creationTimestamp", "time",      "lastTransitionTime",
                                                   "lastHeartbeatTime", "renewTime", "allocationTimestamp"};
  if (depth > kMaxDepthOfTimes) return;
  if (value.is_array())
    for (const json& one : value) find_latest(one, latest, depth + 1);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    Timestamp time;
    if (member.is_structured())
      find_latest(member, latest, depth + 1);
    else if (member.is_string() && std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() &&
             parse_rfc3339(member.get_ref<const std::string&>(), time))
      latest = std::max(latest, time);
  }
}

class ListReader {
 public:
  explicit ListReader(const std::string& name) { objects_.origin = name; }

  void read(json& document) {
    const auto items = document.is_object() ? document.find("items") : document.end();
    if (!document.is_object() || items == document.end() || !items->is_array()) return add(document, "", "");
    // A list of one kind as a server sends it need not repeat the kind in its items.
    std::string kind = string_in_object(document, "kind");
    const std::string version = string_in_object(document, "apiVersion");
    if (kind.ends_with("List")) kind.resize(kind.size() - 4);
    for (json& item : *items) add(item, version, kind);
  }

  Result<Objects> finish(const OnPage& on_page) {
    if (pages_.empty())
      return fail(Code::kInvalidArgument,
                  "it is neither a snapshot (make one with: kubectl dra snapshot FILE) nor a list of objects (kubectl "
                  "get nodes,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,pods -A -o yaml)");
    objects_.taken = latest_;
    objects_.evictions.asked = true;
    for (auto& [plural, items] : pages_) {
      const std::string page = json{{"items", std::move(items)}}.dump(-1, ' ', false, json::error_handler_t::replace);
      if (auto added = add_page(objects_, plural, page); !added) return fail(added.error().wrap(plural));
      if (on_page)
        if (auto seen = on_page(plural, page); !seen) return fail(seen.error());
    }
    hide_missing();
    return std::move(objects_);
  }

 private:
  void add(json& object, const std::string& list_version, const std::string& list_kind) {
    if (!object.is_object()) return;
    std::string version = string_in_object(object, "apiVersion"), kind = string_in_object(object, "kind");
    if (version.empty()) version = list_version;
    if (kind.empty()) kind = list_kind;
    const size_t slash = version.find('/');
    const std::string group = slash == std::string::npos ? "" : version.substr(0, slash);
    for (const KindToRead& one : kinds_to_read()) {
      if (one.kind != kind || one.group != group) continue;
      std::string served = version.substr(slash + 1);
      if (group == "resource.k8s.io" && kind != "DeviceTaintRule" &&
          std::find(objects_.dra_versions.begin(), objects_.dra_versions.end(), served) == objects_.dra_versions.end())
        objects_.dra_versions.push_back(std::move(served));
      objects_.taint_rules_served = objects_.taint_rules_served || kind == "DeviceTaintRule";
      objects_.storage_read = objects_.storage_read || one.needed_for == KindToRead::For::kStorage;
      objects_.quotas.asked = objects_.quotas.asked || one.needed_for == KindToRead::For::kQuotas;
      of_evictions_ = of_evictions_ || one.needed_for == KindToRead::For::kEvictions;
      find_latest(object, latest_, 0);
      pages_.try_emplace(std::string(one.plural), json::array()).first->second.push_back(std::move(object));
      return;
    }
  }

  // A cluster with devices has nodes, classes and slices; and claims that pods name, and pods that claims name.
  void hide_missing() {
    const auto hide = [this](const char* plural) { objects_.hidden.push_back({plural, "the file has none of them"}); };
    for (const char* plural : {"nodes", "deviceclasses", "resourceslices"})
      if (!pages_.contains(plural)) hide(plural);
    const bool named = std::any_of(objects_.pods.begin(), objects_.pods.end(), [](const auto& one) {
      return !one.second->resource_claims.empty() && !one.second->node_name.empty();
    });
    const bool reserved = std::any_of(objects_.claims.begin(), objects_.claims.end(),
                                      [](const auto& one) { return protocol::has_users(*one.second); });
    if (named && objects_.claims.empty()) hide("resourceclaims");
    if (reserved && objects_.pods.empty()) hide("pods");
    // A cluster may be without any; a file with some of these kinds was meant to have them.
    if (!of_evictions_)
      for (const char* plural : {"poddisruptionbudgets", "priorityclasses", "jobs"})
        objects_.evictions.hidden.push_back({plural, "the file has none of them"});
  }

  Objects objects_;
  Timestamp latest_;
  std::map<std::string, json> pages_;  // by plural
  bool of_evictions_ = false;
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with('\x1f');  // no text begins so, and a snapshot may be cut off after it
}

Result<Objects> read_object_list(std::string_view text, const std::string& name, const OnPage& on_page) {
  if (text.size() > kMaxObjectList)
    return fail(Code::kResourceExhausted, "file " + quote(name) + " is larger than " + std::to_string(kMaxObjectList) +
                                              " bytes; make a snapshot instead: kubectl dra snapshot FILE");
  ListReader reader(name);
  // Much faster than as YAML, with the same limit of depth.
  const json::parser_callback_t not_too_deep = [](int depth, json::parse_event_t, json&) {
    return depth <= static_cast<int>(yaml::Options().max_depth);
  };
  json whole = json::parse(text, not_too_deep, false);
  if (!whole.is_discarded()) {
    reader.read(whole);
  } else {
    auto documents = yaml::parse_all(text);
    if (!documents)
      return fail(documents.error().wrap("file " + quote(name) +
                                         " is no snapshot, and cannot be read as a list of "
                                         "objects in YAML or JSON"));
    for (json& document : *documents) reader.read(document);
  }
  auto objects = reader.finish(on_page);
  if (!objects) return fail(objects.error().wrap("file " + quote(name)));
  return objects;
}

}  // namespace dra::inspect
