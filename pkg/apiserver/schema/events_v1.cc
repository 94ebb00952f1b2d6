#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/events/v1 of 1.36.
std::string_view events_v1() {
  return R"(
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
)";
}

}  // namespace dra::apiserver::schema_tables
