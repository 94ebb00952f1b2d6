#include "pkg/apiserver/kinds/resource/kinds.h"

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/model/release.h"

namespace dra::apiserver {
namespace {

// ResourcePoolStatusRequest of k8s.io/api/resource/v1alpha3, 1.36.
constexpr std::string_view kPoolStatus = R"(
type ResourcePoolStatusRequest
1 metadata ObjectMeta
2 spec ResourcePoolStatusRequestSpec
3 status *ResourcePoolStatusRequestStatus

type ResourcePoolStatusRequestSpec
1 driver string !
2 poolName *string
3 limit *int32

type ResourcePoolStatusRequestStatus
6 poolCount *int32
2 pools []PoolStatus
3 conditions []Condition map=type merge=type

type PoolStatus
1 driver string
2 poolName string
9 generation int64 !
8 resourceSliceCount *int32
4 totalDevices *int32
5 allocatedDevices *int32
6 availableDevices *int32
7 unavailableDevices *int32
3 nodeName *string
10 validationError *string
)";

constexpr std::string_view kPoolStatusOf137 = R"(
type PartitionTypeStatus
4 attribute string
1 type string
2 total *int32
3 allocatable *int32

type ShareableCapacityStatus
1 name string
2 total *Quantity
3 consumed *Quantity
4 available *Quantity

type ShareableSummaryStatus
1 fullyAvailableDevices *int32
2 partiallyAvailableDevices *int32
3 capacity []ShareableCapacityStatus

extend ResourcePoolStatusRequestSpec
4 defaultPartitionTypeAttribute *string

extend PoolStatus
11 partitionSummary []PartitionTypeStatus
13 shareableSummary *ShareableSummaryStatus
)";

}  // namespace

// DeviceTaintRule of k8s.io/api/resource/v1beta2 and v1alpha3 of 1.36 and v1 of 1.37, which have the same fields.
std::vector<SchemaTable> resource_tables() {
  static constexpr std::string_view kText = R"(
type DeviceTaintRule
1 metadata ObjectMeta
2 spec DeviceTaintRuleSpec
3 status DeviceTaintRuleStatus

type DeviceTaintRuleSpec
1 deviceSelector *DeviceTaintSelector
2 taint resource/v1.DeviceTaint !

type DeviceTaintSelector
2 driver *string
3 pool *string
4 device *string

type DeviceTaintRuleStatus
1 conditions []Condition map=type merge=type
)";
  return {{"resource/v1beta2", kText},
          {"resource/v1alpha3", kText},
          {"resource/v1", kText, 37},
          {"resource/v1alpha3", kPoolStatus},
          {"resource/v1alpha3", kPoolStatusOf137, 37}};
}

void add_resource_kinds(KindRegistry& registry) {
  for (auto make : {make_device_class_kind, make_device_taint_rule_kind, make_resource_claim_kind,
                    make_resource_claim_template_kind, make_resource_slice_kind})
    registry.add(make());
  if (serves_gate("DRAResourcePoolStatus")) registry.add(make_pool_status_request_kind());
}

KindInfo resource_kind_info(const std::string& kind, const std::string& plural, const std::string& singular,
                            bool namespaced) {
  KindInfo i = kind_info({"resource.k8s.io", "v1"}, "resource/v1", kind, plural, singular, namespaced);
  auto old_version = [&](const std::string& version, const std::string& since, const std::string& until) {
    i.served.push_back({{"resource.k8s.io", version},
                        "resource/" + version,
                        "resource.k8s.io/" + version + " " + kind + " is deprecated in " + since +
                            "+, unavailable in " + until + "+"});
  };
  old_version("v1beta2", "v1.36", "v1.39");
  if (served_release() < 38) old_version("v1beta1", "v1.35", "v1.38");
  i.delete_returns_object = true;
  return i;
}

}  // namespace dra::apiserver
