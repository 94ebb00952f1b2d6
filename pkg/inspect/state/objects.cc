#include "pkg/inspect/state/objects.h"

#include <algorithm>

#include "pkg/api/decode/decode.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/keep.h"

namespace dra::inspect {
namespace {

// decode<ResourceClaim>() drops labels, which no decision reads; `top claims -l` selects by them. Namespace is a kind
// of which labels are read, and little else.
void read_labels(std::vector<api::ResourceClaim>& claims, std::string_view page) {
  if (page.find("\"labels\"") == std::string_view::npos) return;
  const auto read = api::decode_list<api::Namespace>(page);
  if (!read) return;
  std::map<std::string, const api::StringMap*> labels;
  for (const api::Namespace& item : read->items) labels[item.metadata.key()] = &item.metadata.labels;
  for (api::ResourceClaim& claim : claims)
    if (const auto found = labels.find(claim.metadata.key()); found != labels.end())
      claim.metadata.labels = *found->second;
}

// The fields that only questions about evictions need, of objects that are read for others, too.
template <class T>
void add_facts(ByKey<T>& table, std::string_view text) {
  auto page = api::decode_list<T>(text);
  if (!page) return;
  for (T& item : page->items) {
    std::string key = item.metadata.key();
    table[std::move(key)] = std::make_shared<const T>(std::move(item));
  }
}

template <class T>
Result<PageEnd> add_items(Objects& objects, ByKey<T>& table, std::string_view text) {
  auto page = api::decode_list<T>(text);
  if (!page) return fail(page.error());
  if (table.size() + page->items.size() > kMaxObjects)
    return fail(Code::kResourceExhausted, "more than " + std::to_string(kMaxObjects) + " objects of one kind");
  for (const Error& error : page->errors)
    if (objects.unreadable.size() < kMaxUnreadable) objects.unreadable.push_back(error.message());
  if constexpr (std::is_same_v<T, api::ResourceClaim>) read_labels(page->items, text);
  PageEnd end{page->metadata.continue_token, page->items.size()};
  for (T& item : page->items) {
    auto object = std::make_shared<const T>(std::move(item));
    if constexpr (std::is_same_v<T, api::ResourceClaim>) objects.claim_by_uid[object->metadata.uid] = object;
    table[object->metadata.key()] = std::move(object);
  }
  return end;
}

bool is_hidden_in(const std::vector<Hidden>& hidden, std::string_view plural, std::string_view ns) {
  const std::string others = std::string(plural) + " outside namespace ";
  return std::any_of(hidden.begin(), hidden.end(), [&](const Hidden& entry) {
    return entry.what == plural || (entry.what.starts_with(others) && entry.what.substr(others.size()) != ns);
  });
}

}  // namespace

bool Objects::hides(std::string_view plural) const {
  return std::any_of(hidden.begin(), hidden.end(), [&](const Hidden& entry) {
    return std::string_view(entry.what).substr(0, plural.size()) == plural;
  });
}

bool Objects::hides_in(std::string_view plural, std::string_view ns) const {
  return is_hidden_in(hidden, plural, ns);
}

bool EvictionObjects::hides(std::string_view plural, std::string_view ns) const {
  return is_hidden_in(hidden, plural, ns);
}

bool Quotas::hides_in(std::string_view ns) const {
  return is_hidden_in(hidden, "resourcequotas", ns);
}

bool Objects::hides_what_decides() const {
  return std::any_of(hidden.begin(), hidden.end(), [](const Hidden& entry) {
    return entry.what != "namespaces" && entry.what != "devicetaintrules" && !entry.what.starts_with("podgroups") &&
           !entry.what.starts_with("resourceclaimtemplates");
  });
}

const std::vector<KindToRead>& kinds_to_read() {
  using For = KindToRead::For;
  static const std::vector<KindToRead> kKinds{
      {"", "namespaces", "Namespace", false},
      {"", "nodes", "Node", false},
      {"resource.k8s.io", "deviceclasses", "DeviceClass", false},
      {"resource.k8s.io", "resourceslices", "ResourceSlice", false},
      {"resource.k8s.io", "devicetaintrules", "DeviceTaintRule", false},
      {"resource.k8s.io", "resourceclaimtemplates", "ResourceClaimTemplate", true},
      {"resource.k8s.io", "resourceclaims", "ResourceClaim", true},
      {"", "pods", "Pod", true},
      {"", "resourcequotas", "ResourceQuota", true, For::kQuotas},
      {"policy", "poddisruptionbudgets", "PodDisruptionBudget", true, For::kEvictions},
      {"scheduling.k8s.io", "priorityclasses", "PriorityClass", false, For::kEvictions},
      {"batch", "jobs", "Job", true, For::kEvictions},
      {"", "persistentvolumeclaims", "PersistentVolumeClaim", true, For::kStorage},
      {"", "persistentvolumes", "PersistentVolume", false, For::kStorage},
      {"storage.k8s.io", "storageclasses", "StorageClass", false, For::kStorage},
      {"storage.k8s.io", "csinodes", "CSINode", false, For::kStorage},
      {"storage.k8s.io", "csidrivers", "CSIDriver", false, For::kStorage},
      {"storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity", true, For::kStorage},
      {"storage.k8s.io", "volumeattachments", "VolumeAttachment", false, For::kStorage},
  };
  return kKinds;
}

const std::vector<GroupsToRead>& groups_to_read() {
  using reconcile::GroupApi;
  static const std::vector<GroupsToRead> kGroups{
      {GroupApi::kCore, "scheduling.k8s.io", "v1alpha2", "podgroups", "\"podGroupName\""},
      {GroupApi::kPlugins, "scheduling.x-k8s.io", "v1alpha1", "podgroups.scheduling.x-k8s.io",
       "\"scheduling.x-k8s.io/pod-group\""},
  };
  return kGroups;
}

Result<PageEnd> add_page(Objects& objects, std::string_view plural, std::string_view text) {
  if (plural == "namespaces") return add_items(objects, objects.namespaces, text);
  if (plural == "nodes") return add_items(objects, objects.nodes, text);
  if (plural == "deviceclasses") return add_items(objects, objects.classes, text);
  if (plural == "resourceslices") return add_items(objects, objects.slices, text);
  if (plural == "devicetaintrules") return add_items(objects, objects.taint_rules, text);
  if (plural == "resourceclaimtemplates") return add_items(objects, objects.templates, text);
  if (plural == "resourceclaims") return add_items(objects, objects.claims, text);
  if (plural == "pods") {
    if (objects.evictions.asked) add_facts(objects.evictions.pods, text);
    return add_items(objects, objects.pods, text);
  }
  if (plural == "resourcequotas") return add_items(objects, objects.quotas.all, text);
  if (plural == "poddisruptionbudgets") return add_items(objects, objects.evictions.budgets, text);
  if (plural == "priorityclasses") return add_items(objects, objects.evictions.priority_classes, text);
  if (plural == "jobs") return add_items(objects, objects.evictions.jobs, text);
  if (plural == "persistentvolumeclaims") return add_items(objects, objects.volume_claims, text);
  if (plural == "persistentvolumes") return add_items(objects, objects.volumes, text);
  if (plural == "storageclasses") return add_items(objects, objects.storage_classes, text);
  if (plural == "csinodes") return add_items(objects, objects.csi_nodes, text);
  if (plural == "csidrivers") return add_items(objects, objects.csi_drivers, text);
  if (plural == "csistoragecapacities") return add_items(objects, objects.storage_capacities, text);
  if (plural == "volumeattachments") return add_items(objects, objects.attachments, text);
  if (plural == "leases") {
    objects.managers.asked = true;
    return add_items(objects, objects.managers.leases, text);
  }
  for (const GroupsToRead& groups : groups_to_read())
    if (plural == groups.name) {
      if (objects.evictions.asked) add_facts(objects.evictions.groups[groups.api], text);
      return add_items(objects, objects.pod_groups[groups.api], text);
    }
  return fail(Code::kInvalidArgument, "lists of " + quote(plural) + " are not read");
}

std::string why_no_devices(const Objects& objects) {
  static const std::vector<std::string> kRead{"v1", "v1beta2", "v1beta1"};
  const auto& served = objects.dra_versions;
  const bool reads = std::any_of(kRead.begin(), kRead.end(), [&](const std::string& version) {
    return std::find(served.begin(), served.end(), version) != served.end();
  });
  // Snapshots from other programs may lack the versions.
  if (reads || !objects.slices.empty() || !objects.claims.empty() || !objects.classes.empty()) return "";
  return objects.origin + " serves no version of resource.k8s.io that is read here (" + join(kRead, ", ") + ")" +
         (served.empty() ? "" : ", but " + join(served, ", ")) + ": it cannot say anything about devices";
}

std::vector<std::string> consumers_of(const Objects& objects, const api::ResourceClaim& claim) {
  std::vector<std::string> names;
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
    if (protocol::is_keep_reference(consumer)) {
      if (protocol::is_only_kept(claim)) names.push_back(protocol::keep_words(*protocol::keep_of(claim)));
      continue;
    }
    if (!consumer.api_group.empty() || consumer.resource != "pods") {
      names.push_back(consumer.resource + "/" + consumer.name);
      continue;
    }
    const auto pod = objects.pods.find(claim.metadata.ns + "/" + consumer.name);
    const bool there = pod != objects.pods.end() && pod->second->metadata.uid == consumer.uid;
    names.push_back(consumer.name + (there || objects.hides("pods") ? "" : " (gone)"));
  }
  return names;
}

std::string age_text(const std::string& since, Timestamp now) {
  Timestamp begin;
  if (!parse_rfc3339(since, begin)) return "<unknown>";
  const int64_t seconds = std::max<int64_t>(0, seconds_between(begin, now));
  const auto text = [](int64_t big, const char* big_unit, int64_t small, const char* small_unit) {
    return std::to_string(big) + big_unit + (small > 0 ? std::to_string(small) + small_unit : "");
  };
  if (seconds < 120) return std::to_string(seconds) + "s";
  const int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  if (minutes < 10) return text(minutes, "m", seconds % 60, "s");
  if (hours < 3) return std::to_string(minutes) + "m";
  if (hours < 8) return text(hours, "h", minutes % 60, "m");
  if (days < 2) return std::to_string(hours) + "h";
  if (days < 8) return text(days, "d", hours % 24, "h");
  if (days < 365 * 2) return std::to_string(days) + "d";
  return text(days / 365, "y", days % 365, "d");
}

}  // namespace dra::inspect
