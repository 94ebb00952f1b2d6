// decode<T>() for the kinds of storage.h.
#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/pod_bounds.h"
#include "pkg/api/storage.h"

namespace dra::api {
namespace detail {
namespace {

bool quantity_of(const WireValue& v, std::string_view name, std::string& out, Trouble& t) {
  return field_with(v, name, t, [&](const WireValue& q) { return read_quantity(q, out, t); });
}

bool read_claim_ref(const WireValue& v, std::optional<PersistentVolume::ClaimRef>& out, Trouble& t) {
  return section(v, "claimRef", t, [&](const WireValue& r) {
    PersistentVolume::ClaimRef& read = out.emplace();
    return field(r, "namespace", read.ns, t) && field(r, "name", read.name, t) && field(r, "uid", read.uid, t);
  });
}

bool read_topology_term(const WireValue& v, std::map<std::string, std::vector<std::string>>& out, Trouble& t) {
  return expect_object(v, t) && field_with(v, "matchLabelExpressions", t, [&](const WireValue& list) {
           std::vector<LabelSelectorRequirement> read;
           const auto one = [](const WireValue& e, LabelSelectorRequirement& r, Trouble& trouble) {
             return expect_object(e, trouble) && field(e, "key", r.key, trouble) &&
                    field(e, "values", r.values, trouble);
           };
           if (!read_list(list, read, t, one)) return false;
           for (LabelSelectorRequirement& r : read) out[r.key] = std::move(r.values);
           return true;
         });
}

struct CsiNodeDriver {
  std::string name;
  std::optional<int32_t> count;
};

bool read_csi_driver(const WireValue& v, CsiNodeDriver& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         section(v, "allocatable", t, [&](const WireValue& a) { return field(a, "count", out.count, t); });
}

// The kinds that consist of a selector and a name.
template <class T>
bool read_selecting(const WireValue& v, T& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t, [&](const WireValue& spec) {
           const bool readable = field(spec, "selector", out.selector, t);
           drop_beyond_bounds(out.selector);
           return readable;
         });
}

}  // namespace

bool read(const WireValue& v, PersistentVolumeClaim& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t,
                 [&](const WireValue& s) {
                   const bool selecting = field(s, "selector", out.selector, t);
                   drop_beyond_bounds(out.selector);
                   return selecting && field(s, "accessModes", out.access_modes, t) &&
                          field(s, "storageClassName", out.storage_class_name, t) &&
                          field(s, "volumeName", out.volume_name, t) && field(s, "volumeMode", out.volume_mode, t) &&
                          field(s, "volumeAttributesClassName", out.volume_attributes_class_name, t) &&
                          section(s, "resources", t, [&](const WireValue& r) {
                            return section(r, "requests", t, [&](const WireValue& q) {
                              return quantity_of(q, "storage", out.storage, t);
                            });
                          });
                 }) &&
         section(v, "status", t, [&](const WireValue& s) { return field(s, "phase", out.phase, t); });
}

bool read(const WireValue& v, PersistentVolume& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "spec", t,
                 [&](const WireValue& s) {
                   return section(s, "capacity", t,
                                  [&](const WireValue& c) { return quantity_of(c, "storage", out.storage, t); }) &&
                          field(s, "accessModes", out.access_modes, t) &&
                          field(s, "storageClassName", out.storage_class_name, t) &&
                          field(s, "volumeMode", out.volume_mode, t) &&
                          field(s, "volumeAttributesClassName", out.volume_attributes_class_name, t) &&
                          read_claim_ref(s, out.claim_ref, t) &&
                          section(s, "nodeAffinity", t,
                                  [&](const WireValue& a) { return field(a, "required", out.node_affinity, t); }) &&
                          section(s, "csi", t, [&](const WireValue& c) {
                            return field(c, "driver", out.csi_driver, t) && field(c, "volumeHandle", out.csi_handle, t);
                          });
                 }) &&
         section(v, "status", t, [&](const WireValue& s) { return field(s, "phase", out.phase, t); });
}

bool read(const WireValue& v, StorageClass& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         field(v, "provisioner", out.provisioner, t) && field(v, "volumeBindingMode", out.volume_binding_mode, t) &&
         field_with(v, "allowedTopologies", t, [&](const WireValue& list) {
           return read_list(list, out.allowed_topologies, t, read_topology_term);
         });
}

bool read(const WireValue& v, CsiNode& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t, [&](const WireValue& s) {
           return field_with(s, "drivers", t, [&](const WireValue& list) {
             std::vector<CsiNodeDriver> drivers;
             if (!read_list(list, drivers, t, read_csi_driver)) return false;
             for (const CsiNodeDriver& driver : drivers)
               if (driver.count) out.driver_limit[driver.name] = *driver.count;
             return true;
           });
         });
}

bool read(const WireValue& v, CsiDriver& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t,
                 [&](const WireValue& s) { return field(s, "storageCapacity", out.storage_capacity, t); });
}

bool read(const WireValue& v, CsiStorageCapacity& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         field(v, "storageClassName", out.storage_class_name, t) && field(v, "nodeTopology", out.node_topology, t) &&
         quantity_of(v, "capacity", out.capacity, t) && quantity_of(v, "maximumVolumeSize", out.maximum_volume_size, t);
}

bool read(const WireValue& v, VolumeAttachment& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t, [&](const WireValue& s) {
           return field(s, "attacher", out.attacher, t) && field(s, "nodeName", out.node_name, t) &&
                  section(s, "source", t, [&](const WireValue& source) {
                    return field(source, "persistentVolumeName", out.persistent_volume_name, t);
                  });
         });
}

bool read(const WireValue& v, Service& out, Trouble& t) {
  return read_selecting(v, out, t);
}
bool read(const WireValue& v, ReplicationController& out, Trouble& t) {
  return read_selecting(v, out, t);
}
bool read(const WireValue& v, ReplicaSet& out, Trouble& t) {
  return read_selecting(v, out, t);
}
bool read(const WireValue& v, StatefulSet& out, Trouble& t) {
  return read_selecting(v, out, t);
}
namespace {

struct PodFailureRule {
  std::string action;
  bool on_disruption = false;
};

bool read_pod_failure_rule(const WireValue& v, PodFailureRule& out, Trouble& t) {
  std::vector<Condition> patterns;
  if (!expect_object(v, t) || !field(v, "action", out.action, t) ||
      !field_with(v, "onPodConditions", t, [&](const WireValue& list) {
        return read_list(list, patterns, t, [](const WireValue& c, Condition& pattern, Trouble& trouble) {
          return expect_object(c, trouble) && field(c, "type", pattern.type, trouble) &&
                 field(c, "status", pattern.status, trouble);
        });
      }))
    return false;
  for (const Condition& pattern : patterns)
    if (pattern.type == "DisruptionTarget" && (pattern.status.empty() || pattern.status == "True"))
      out.on_disruption = true;
  return true;
}

bool read_pod_failure_policy(const WireValue& v, Job& out, Trouble& t) {
  std::vector<PodFailureRule> rules;
  if (!field_with(v, "rules", t,
                  [&](const WireValue& list) { return read_list(list, rules, t, read_pod_failure_rule); }))
    return false;
  for (const PodFailureRule& rule : rules) {
    if (!rule.on_disruption) continue;
    out.ignores_disruption = rule.action == "Ignore";
    break;
  }
  return true;
}

}  // namespace

bool read(const WireValue& v, Job& out, Trouble& t) {
  std::optional<int64_t> per_index;
  const bool ok = expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
                  section(v, "spec", t,
                          [&](const WireValue& s) {
                            return field(s, "podReplacementPolicy", out.pod_replacement_policy, t) &&
                                   field(s, "backoffLimit", out.backoff_limit, t) &&
                                   field(s, "backoffLimitPerIndex", per_index, t) &&
                                   section(s, "podFailurePolicy", t, [&](const WireValue& policy) {
                                     return read_pod_failure_policy(policy, out, t);
                                   });
                          }) &&
                  section(v, "status", t, [&](const WireValue& s) { return field(s, "failed", out.failed, t); });
  out.backoff_limit_per_index = per_index.has_value();
  return ok;
}

}  // namespace detail

DRA_DECODE_KIND(PersistentVolumeClaim)
DRA_DECODE_KIND(PersistentVolume)
DRA_DECODE_KIND(StorageClass)
DRA_DECODE_KIND(CsiNode)
DRA_DECODE_KIND(CsiDriver)
DRA_DECODE_KIND(CsiStorageCapacity)
DRA_DECODE_KIND(VolumeAttachment)
DRA_DECODE_KIND(Service)
DRA_DECODE_KIND(ReplicationController)
DRA_DECODE_KIND(ReplicaSet)
DRA_DECODE_KIND(StatefulSet)
DRA_DECODE_KIND(Job)

}  // namespace dra::api
