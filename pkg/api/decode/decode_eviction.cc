// Decoding of what decides about evictions.
#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/decode/read_fields.h"
#include "pkg/api/eviction.h"

namespace dra::api {
namespace detail {
namespace {

constexpr std::string_view kMirrorPod = "kubernetes.io/config.mirror";

bool has_member(const WireValue& object, std::string_view name) {
  WireValue value;
  return object.kind() == WireValue::Kind::kObject && object.find(name, value) && !value.is_null();
}

bool read_mirror_mark(const WireValue& pod, bool& of_node, Trouble& t) {
  return section(pod, "metadata", t, [&](const WireValue& metadata) {
    return section(metadata, "annotations", t,
                   [&](const WireValue& annotations) {
                     of_node = of_node || has_member(annotations, kMirrorPod);
                     return true;
                   }) &&
           field_with(metadata, "ownerReferences", t, [&](const WireValue& list) {
             std::vector<std::string> kinds;
             const bool readable = read_list(list, kinds, t, [](const WireValue& one, std::string& kind, Trouble& in) {
               return expect_object(one, in) && field(one, "kind", kind, in);
             });
             for (const std::string& kind : kinds) of_node = of_node || kind == "Node";
             return readable;
           });
  });
}

bool read_host_path(const WireValue& spec, bool& host_path, Trouble& t) {
  return field_with(spec, "volumes", t, [&](const WireValue& list) {
    std::vector<char> seen;
    return read_list(list, seen, t, [&](const WireValue& volume, char&, Trouble&) {
      host_path = host_path || has_member(volume, "hostPath");
      return true;
    });
  });
}

}  // namespace

bool read(const WireValue& v, PodDisruptionBudget& out, Trouble& t) {
  std::string policy;
  const bool readable =
      expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
      section(v, "spec", t,
              [&](const WireValue& spec) {
                return field(spec, "selector", out.selector, t) && field(spec, "unhealthyPodEvictionPolicy", policy, t);
              }) &&
      section(v, "status", t, [&](const WireValue& status) {
        return field(status, "observedGeneration", out.observed_generation, t) &&
               field(status, "disruptionsAllowed", out.disruptions_allowed, t) &&
               field(status, "currentHealthy", out.current_healthy, t) &&
               field(status, "desiredHealthy", out.desired_healthy, t) &&
               section(status, "disruptedPods", t, [&](const WireValue& pods) {
                 return pods.each_member([&](std::string_view name, const WireValue&) {
                   out.disrupted_pods.emplace_back(name);
                   return true;
                 });
               });
      });
  out.always_allow = policy == "AlwaysAllow";
  return readable;
}

bool read(const WireValue& v, PriorityClass& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         field(v, "value", out.value, t) && field(v, "globalDefault", out.global_default, t) &&
         field(v, "preemptionPolicy", out.preemption_policy, t);
}

bool read(const WireValue& v, JobEvictionFacts& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t, [&](const WireValue& spec) {
           return field(spec, "podReplacementPolicy", out.pod_replacement_policy, t);
         });
}

bool read(const WireValue& v, PodEvictionFacts& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         read_mirror_mark(v, out.of_node, t) &&
         section(v, "spec", t,
                 [&](const WireValue& spec) {
                   return field(spec, "preemptionPolicy", out.preemption_policy, t) &&
                          read_host_path(spec, out.host_path, t);
                 }) &&
         section(v, "status", t,
                 [&](const WireValue& status) { return field(status, "startTime", out.start_time, t); });
}

bool read(const WireValue& v, PodGroupEvictionFacts& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t, [&](const WireValue& spec) {
           return field_with(spec, "disruptionMode", t,
                             [&](const WireValue& mode) { return read_disruption_mode(mode, out.whole, t); });
         });
}

}  // namespace detail

DRA_DECODE_KIND(PodDisruptionBudget)
DRA_DECODE_KIND(PriorityClass)
DRA_DECODE_KIND(JobEvictionFacts)
DRA_DECODE_KIND(PodEvictionFacts)
DRA_DECODE_KIND(PodGroupEvictionFacts)

}  // namespace dra::api
