#include "pkg/apiserver/kinds/core/kinds.h"

namespace dra::apiserver {

// k8s.io/api/events/v1 of 1.36.
std::vector<SchemaTable> core_tables() {
  return {{"events/v1", R"(
type Event
1 metadata ObjectMeta
2 eventTime MicroTime !
3 series *EventSeries
4 reportingController string
5 reportingInstance string
6 action string
7 reason string
8 regarding core/v1.ObjectReference
9 related *core/v1.ObjectReference
10 note string
11 type string
12 deprecatedSource core/v1.EventSource
13 deprecatedFirstTimestamp Time !
14 deprecatedLastTimestamp Time !
15 deprecatedCount int32

type EventSeries
1 count int32 !
2 lastObservedTime MicroTime !
)"}};
}

void add_core_kinds(KindRegistry& registry) {
  for (auto make : {make_pod_kind, make_node_kind, make_namespace_kind, make_event_kind, make_config_map_kind,
                    make_service_kind, make_secret_kind, make_service_account_kind})
    registry.add(make());
}

}  // namespace dra::apiserver
