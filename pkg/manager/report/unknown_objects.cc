#include "pkg/manager/report/unknown_objects.h"

#include "pkg/protocol/writes.h"

namespace dra::manager {

metrics::GaugeFamily& unknown_field_gauges(metrics::Registry& registry) {
  return registry.gauges("dra_unknown_fields",
                         "[ALPHA] Objects with a field that this version does not know or support, so that the "
                         "object, or a part of it, is not allocated.",
                         {"resource", "name", "field"});
}

api::IgnoredFields not_reported(reconcile::Scheduling scheduling, api::IgnoredFields ignored) {
  if (scheduling == reconcile::Scheduling::kBind)
    ignored.emplace_back("resourceslices.spec.devices.nodeAllocatableResourceMappings");
  return ignored;
}

UnknownObjects::UnknownObjects(metrics::Registry& registry, EventSink& events, api::IgnoredFields ignored)
    : events_(events), ignored_(std::move(ignored)), shown_(unknown_field_gauges(registry)) {}

void UnknownObjects::note(const char* resource, std::string_view key, const api::ObjectMeta* metadata,
                          const api::Rare<api::UnknownFields>* unknown, std::optional<reconcile::Kind> kind) {
  const auto at = known_.find({resource, std::string(key)});
  const api::UnknownField* field = unknown != nullptr ? api::refusing_field(*unknown, ignored_) : nullptr;
  if (field == nullptr) {
    if (at != known_.end()) known_.erase(at);
    return;
  }
  if (at != known_.end() && at->second.uid == metadata->uid && at->second.generation == metadata->generation &&
      at->second.field == field->field)
    return;
  Known now{metadata->uid, field->field, api::why_refused(*field), metadata->generation, std::nullopt, false};
  if (kind) now.object = reconcile::Ref{*kind, metadata->ns, metadata->name, metadata->uid};
  Known& kept = known_[{resource, std::string(key)}] = std::move(now);
  if (leading_) say(kept);
}

void UnknownObjects::say(Known& known) {
  if (known.said || !known.object) return;
  known.said =
      events_.emit({*known.object, true, "UnknownField", "Allocate", "what has it is not allocated: " + known.why,
                    std::to_string(known.generation) + known.field});
}

void UnknownObjects::changed(std::string_view key, const api::ResourceSlice* after) {
  note("resourceslices", key, after ? &after->metadata : nullptr, after ? &after->unknown : nullptr,
       reconcile::Kind::kSlice);
}

void UnknownObjects::changed(std::string_view key, const api::DeviceClass* after) {
  note("deviceclasses", key, after ? &after->metadata : nullptr, after ? &after->unknown : nullptr,
       reconcile::Kind::kClass);
}

void UnknownObjects::changed(std::string_view key, const api::ResourceClaim* after) {
  const api::Rare<api::UnknownFields>* unknown = nullptr;
  if (after != nullptr) unknown = after->status.allocation ? &after->status.allocation->unknown : &after->spec.unknown;
  note("resourceclaims", key, after ? &after->metadata : nullptr, unknown);
}

void UnknownObjects::changed(std::string_view key, const api::PodGroup* after) {
  note("podgroups", key, after ? &after->metadata : nullptr, after ? &after->unknown : nullptr);
}

void UnknownObjects::set_leading(bool leading) {
  leading_ = leading;
  for (auto& [key, known] : known_)
    if (leading) say(known);
}

void UnknownObjects::show() {
  std::map<metrics::LabelValues, double> now;
  // Slices and classes first: tenants do not make them, so many claims of one do not take their names away.
  for (const bool namespaced : {false, true})
    for (auto& [key, known] : known_) {
      if (known.object.has_value() == namespaced) continue;
      if (leading_) say(known);  // what the recorder dropped at a limit
      const bool named = now.size() < kMaxNamed;
      ++now[named ? metrics::LabelValues{key.first, key.second, known.field}
                  : metrics::LabelValues{key.first, "(others)", ""}];
    }
  for (const metrics::LabelValues& gone : series_)
    if (!now.contains(gone)) shown_.remove(gone);
  series_.clear();
  for (const auto& [labels, count] : now) {
    shown_.with(labels).set(count);
    series_.insert(labels);
  }
}

}  // namespace dra::manager
