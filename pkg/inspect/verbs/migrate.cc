#include "pkg/inspect/verbs/migrate.h"

#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/document_text.h"
#include "pkg/inspect/state/manifest.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr std::string_view kNewest = "resource.k8s.io/v1";

std::string text_member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The object under the keys, or null.
json* below(json& object, std::initializer_list<const char*> keys) {
  json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
  }
  return at;
}

class Migration {
 public:
  explicit Migration(std::vector<std::string>& lost) : lost_(lost) {}

  // Returns whether the object changed, apart from its version's name.
  bool run(json& object) {
    const std::string version = text_member(object, "apiVersion"), kind = text_member(object, "kind");
    what_ = kind + " " + (object.contains("metadata") ? text_member(object["metadata"], "name") : "");
    if (version == "v1" || version == "apps/v1" || version == "batch/v1") return pods_in(object);
    if (version == "resource.k8s.io/v1alpha1" || version == "resource.k8s.io/v1alpha2")
      return from_alpha2(object, kind);
    if (version == "resource.k8s.io/v1alpha3" && kind != "DeviceTaintRule") return from_flat(object, kind, true);
    if (version == "resource.k8s.io/v1beta1") return from_flat(object, kind, false);
    return false;
  }

 private:
  void lose(const std::string& what) { lost_.push_back(what_ + ": " + what); }

  void drop(json* object, const char* key, const std::string& advice) {
    if (object == nullptr || !object->is_object() || !object->contains(key)) return;
    object->erase(key);
    lose(std::string(key) + " has no counterpart" + (advice.empty() ? "" : "; " + advice));
  }

  // ---- v1alpha3, v1beta1: flat requests, `basic` devices
  bool from_flat(json& object, const std::string& kind, bool alpha) {
    object["apiVersion"] = kNewest;
    if (kind == "ResourceClaim") claim_spec(below(object, {"spec"}));
    if (kind == "ResourceClaimTemplate") claim_spec(below(object, {"spec", "spec"}));
    if (kind == "DeviceClass") drop(below(object, {"spec"}), "suitableNodes", "restrict nodes in the pods");
    if (kind == "ResourceSlice") slice_spec(below(object, {"spec"}), alpha);
    if (kind == "PodSchedulingContext") lose("the kind is gone; schedulers need it no more");
    return true;
  }

  void claim_spec(json* spec) {
    if (spec == nullptr || !spec->is_object()) return;
    drop(spec, "controller", "control planes of drivers allocate no more");
    json* requests = below(*spec, {"devices", "requests"});
    if (requests == nullptr || !requests->is_array()) return;
    for (json& request : *requests) put_under_exactly(request);
  }

  void slice_spec(json* spec, bool alpha) {
    json* devices = spec ? below(*spec, {"devices"}) : nullptr;
    if (devices == nullptr || !devices->is_array()) return;
    for (json& device : *devices) {
      if (!device.is_object() || !device.contains("basic") || !device["basic"].is_object()) continue;
      const json basic = device["basic"];
      device.erase("basic");
      for (const auto& [key, value] : basic.items()) device[key] = value;
      if (!alpha || !device.contains("capacity") || !device["capacity"].is_object()) continue;
      for (auto& [name, value] : device["capacity"].items())
        if (!value.is_object()) value = json{{"value", value}};
    }
  }

  // ---- v1alpha1, v1alpha2: classes of drivers, opaque parameters
  bool from_alpha2(json& object, const std::string& kind) {
    if (kind == "ResourceClass") {
      resource_class(object);
    } else if (kind == "ResourceClaim") {
      opaque_claim(below(object, {"spec"}));
    } else if (kind == "ResourceClaimTemplate") {
      opaque_claim(below(object, {"spec", "spec"}));
    } else {
      lose("the kind has no counterpart");
      object = nullptr;
      return true;
    }
    object["apiVersion"] = kNewest;
    return true;
  }

  void resource_class(json& object) {
    const std::string driver = text_member(object, "driverName");
    object["kind"] = "DeviceClass";
    drop(&object, "parametersRef", "put the driver's parameters into spec.config[].opaque");
    drop(&object, "suitableNodes", "restrict nodes in the pods");
    object.erase("driverName");
    object.erase("structuredParameters");
    object["spec"]["selectors"] = json::array({{{"cel", {{"expression", "device.driver == " + quote(driver)}}}}});
  }

  void opaque_claim(json* spec) {
    if (spec == nullptr || !spec->is_object()) return;
    const std::string device_class = text_member(*spec, "resourceClassName");
    drop(spec, "parametersRef", "put what it asks for into selectors, and the rest into spec.devices.config[].opaque");
    if (text_member(*spec, "allocationMode") == "Immediate")
      lose("allocationMode Immediate has no counterpart: claims are allocated when a pod needs them");
    *spec =
        json{{"devices",
              {{"requests", json::array({{{"name", "request"}, {"exactly", {{"deviceClassName", device_class}}}}})}}}};
  }

  // ---- pods: resourceClaims[].source
  static bool flatten_sources(json* spec) {
    json* entries = spec ? below(*spec, {"resourceClaims"}) : nullptr;
    bool changed = false;
    if (entries == nullptr || !entries->is_array()) return false;
    for (json& entry : *entries) {
      if (!entry.is_object() || !entry.contains("source") || !entry["source"].is_object()) continue;
      const json source = entry["source"];
      entry.erase("source");
      for (const auto& [key, value] : source.items()) entry[key] = value;
      changed = true;
    }
    return changed;
  }
  static bool pods_in(json& object) {
    bool changed = flatten_sources(below(object, {"spec"}));
    changed = flatten_sources(below(object, {"spec", "template", "spec"})) || changed;
    return flatten_sources(below(object, {"spec", "jobTemplate", "spec", "template", "spec"})) || changed;
  }

  std::vector<std::string>& lost_;
  std::string what_;
};

// v1beta2 differs from v1 only in its name.
bool rename_version(std::string& text) {
  std::string out;
  bool renamed = false;
  for (const std::string& line : split(text, '\n')) {
    const size_t at = line.find("resource.k8s.io/v1beta2");
    if (at != std::string::npos && line.starts_with("apiVersion:") && !renamed) {
      renamed = true;
      out += line.substr(0, at) + std::string(kNewest) +
             line.substr(at + std::string_view("resource.k8s.io/v1beta2").size()) + "\n";
    } else {
      out += line + "\n";
    }
  }
  if (!out.empty()) out.pop_back();
  text = std::move(out);
  return renamed;
}

Result<bool> migrate_part(std::string& text, std::vector<std::string>& lost) {
  auto document = yaml::parse(text);
  if (!document) return fail(document.error());
  if (!document->is_object()) return false;
  const json before = *document;
  const auto items = document->find("items");
  bool changed = false;
  if (text_member(*document, "kind").ends_with("List") && items != document->end() && items->is_array()) {
    json kept = json::array();
    for (json& item : *items) {
      changed = Migration(lost).run(item) || changed;
      if (text_member(item, "apiVersion") == "resource.k8s.io/v1beta2" &&
          text_member(item, "kind") != "DeviceTaintRule") {
        item["apiVersion"] = kNewest;
        changed = true;
      }
      if (!item.is_null()) kept.push_back(std::move(item));
    }
    *items = std::move(kept);
  } else {
    if (text_member(*document, "apiVersion") == "resource.k8s.io/v1beta2" &&
        text_member(*document, "kind") != "DeviceTaintRule") {
      if (rename_version(text)) return true;
      (*document)["apiVersion"] = kNewest;
      changed = true;
    }
    changed = Migration(lost).run(*document) || changed;
  }
  if (!changed || *document == before) return false;
  text = leading_comments(text) + (document->is_null() ? "" : yaml::emit(*document));
  return true;
}

}  // namespace

bool put_under_exactly(json& request) {
  if (!request.is_object() || request.contains("exactly")) return false;
  json exactly = json::object();
  for (const char* key :
       {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"}) {
    const auto found = request.find(key);
    if (found == request.end()) continue;
    // firstAvailable is used alone; servers then show an empty class beside it.
    if (!(found->is_string() && found->get<std::string>().empty())) exactly[key] = *found;
    request.erase(found);
  }
  if (exactly.empty()) return false;
  request["exactly"] = std::move(exactly);
  return true;
}

json as_newest(json object) {
  const std::string version = text_member(object, "apiVersion");
  std::vector<std::string> lost;
  if (version == "resource.k8s.io/v1beta1") Migration(lost).run(object);
  if (version == "resource.k8s.io/v1beta2") object["apiVersion"] = kNewest;
  return object;
}

Result<Migrated> migrate(std::string_view text) {
  if (text.size() > kMaxManifest)
    return fail(Code::kResourceExhausted, "the file is larger than " + std::to_string(kMaxManifest) + " bytes");
  Migrated migrated;
  std::string part;
  size_t line = 0, begin = 1;
  const auto finish = [&]() -> Result<void> {
    auto changed = migrate_part(part, migrated.lost);
    if (!changed) return fail(changed.error().wrap("the document at line " + std::to_string(begin)));
    migrated.changed += *changed;
    migrated.text += part;
    part.clear();
    return {};
  };
  for (const std::string& one : split(text, '\n')) {
    ++line;
    if (one == "---" || one.starts_with("--- ") || one == "---\r") {
      if (auto done = finish(); !done) return fail(done.error());
      if (!migrated.text.empty() && migrated.text.back() != '\n') migrated.text += "\n";
      migrated.text += one + "\n";
      begin = line + 1;
    } else {
      part += one + "\n";
    }
  }
  if (!part.empty()) part.pop_back();
  if (auto done = finish(); !done) return fail(done.error());
  return migrated;
}

Answer migrate_answer(Migrated migrated) {
  Answer answer{"DRAMigrate"};
  answer.document = std::move(migrated.text);
  answer.notes = std::move(migrated.lost);
  if (!answer.notes.empty()) answer.status = Status::kNo;
  answer.notes.push_back(counted(migrated.changed, "document") + " changed");
  return answer;
}

}  // namespace dra::inspect
