// UnknownObjects: the objects that are refused, or of which something is, because they have a field that this build
// does not know (docs/design/unknown-fields.md). Reports each once for each generation: by an event on slices and
// classes, which no pod of a tenant mentions, and by the metric dra_unknown_fields for all.
//
// Claims and PodGroups have the events of the pods that wait for them. Bounded: kMaxNamed series of the metric, slices
// and classes first, and one more for each resource, "(others)"; the events are bounded by the recorder.
//
// Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/resource.h"
#include "pkg/api/scheduling.h"
#include "pkg/inventory/inventory.h"
#include "pkg/manager/run/sinks.h"
#include "pkg/metrics/metrics.h"
#include "pkg/reconcile/settings.h"

namespace dra::manager {

// dra_unknown_fields{resource,name,field}.
metrics::GaugeFamily& unknown_field_gauges(metrics::Registry& registry);

// `ignored`, and what bind mode counts instead of refusing what has it (pkg/inventory/node_takes.h); pods that cannot
// be given such a device say so themselves.
api::IgnoredFields not_reported(reconcile::Scheduling scheduling, api::IgnoredFields ignored);

class UnknownObjects {
 public:
  static constexpr size_t kMaxNamed = 100;

  // All must outlive this. `ignored`: what an administrator lists.
  UnknownObjects(metrics::Registry& registry, EventSink& events, api::IgnoredFields ignored);

  // Call after each change of a store; null: gone.
  void changed(std::string_view key, const api::ResourceSlice* after);
  void changed(std::string_view key, const api::DeviceClass* after);
  void changed(std::string_view key, const api::ResourceClaim* after);
  void changed(std::string_view key, const api::PodGroup* after);
  // Events are written only while leading; what was not said before is said then.
  void set_leading(bool leading);
  // Before a scrape. Repeats the events that the recorder dropped.
  void show();

 private:
  struct Known {
    std::string uid, field, why;
    int64_t generation = 0;
    std::optional<reconcile::Ref> object;  // of a kind that gets events
    bool said = false;
  };
  // `kind`: of a kind that gets events. Null: the object is gone.
  void note(const char* resource, std::string_view key, const api::ObjectMeta* metadata,
            const api::Rare<api::UnknownFields>* unknown, std::optional<reconcile::Kind> kind = {});
  void say(Known& known);

  EventSink& events_;
  const api::IgnoredFields ignored_;
  metrics::GaugeFamily& shown_;
  std::map<std::pair<std::string, std::string>, Known> known_;  // by resource and key
  std::set<metrics::LabelValues> series_;
  bool leading_ = false;
};

}  // namespace dra::manager
