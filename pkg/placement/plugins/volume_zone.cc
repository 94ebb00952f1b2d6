// VolumeZone: zone and region labels of bound volumes.
#include <algorithm>
#include <array>

#include "pkg/base/strings.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

struct ZoneLabel {
  std::string key;
  std::string newer;  // of a beta label: the label that replaced it
};
const std::array<ZoneLabel, 4>& zone_labels() {
  static const std::array<ZoneLabel, 4> kLabels = {
      ZoneLabel{"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
      ZoneLabel{"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
      ZoneLabel{"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
      ZoneLabel{"topology.kubernetes.io/region", "topology.kubernetes.io/region"}};
  return kLabels;
}

// "a__b" -> a, b; nothing when a part is empty.
std::vector<std::string> zone_values(std::string_view text) {
  std::vector<std::string> out;
  for (;;) {
    const size_t end = text.find("__");
    const std::string_view part = trim(text.substr(0, end));
    if (part.empty()) return {};
    out.emplace_back(part);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 2);
  }
}

const std::string* label_of(const api::StringMap& labels, const std::string& key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

}  // namespace

VolumeZone::VolumeZone(Attempt& attempt) {
  const api::ObjectMeta& pod = attempt.pod().metadata;
  for (const api::PodVolume& pod_volume : attempt.pod().volumes) {
    if (pod_volume.claim_name.empty()) continue;
    const auto* claim = attempt.cluster.storage.claims.find(claim_key(pod.ns, pod.name, pod_volume));
    // Claims without a volume passed VolumeBinding, because they wait for their first consumer.
    if (!claim || claim->volume_name.empty()) continue;
    const api::PersistentVolume* volume = attempt.cluster.storage.volumes.find(claim->volume_name);
    if (!volume) {
      attempt.refuse_pod(Plugin::kVolumeZone, "persistentvolume " + quote(claim->volume_name) + " not found");
      return;
    }
    for (const ZoneLabel& label : zone_labels()) {
      const std::string* text = label_of(volume->metadata.labels, label.key);
      if (!text) continue;
      if (std::vector<std::string> values = zone_values(*text); !values.empty())
        topologies_.push_back({label.key, std::move(values)});
    }
  }
}

void VolumeZone::filter(Attempt& attempt) const {
  if (topologies_.empty()) return;
  const auto newer = [](const std::string& key) -> const std::string& {
    return std::find_if(zone_labels().begin(), zone_labels().end(), [&](const auto& l) { return l.key == key; })->newer;
  };
  attempt.filter([&](NodeIndex node) {
    const api::StringMap& labels = attempt.cluster.rest(node).node->metadata.labels;
    const bool zoned = std::any_of(zone_labels().begin(), zone_labels().end(),
                                   [&](const ZoneLabel& label) { return labels.contains(label.key); });
    if (!zoned) return NodeRefusal{};
    for (const Topology& topology : topologies_) {
      const std::string* value = label_of(labels, topology.key);
      if (!value) value = label_of(labels, newer(topology.key));
      if (!value || std::find(topology.values.begin(), topology.values.end(), *value) == topology.values.end())
        return refuse(Plugin::kVolumeZone, true);
    }
    return NodeRefusal{};
  });
}

}  // namespace dra::placement
