// Getters of timestamps and durations: cel-go common/types/{timestamp,duration}.go.
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/time.h"
#include "pkg/cel/lib/time_zone.h"

namespace dra::cel {
namespace {

using lib::TimeField;

template <TimeField kField>
Value timestamp_field(EvalContext&, const Value* a) {
  return Value::of_int(lib::timestamp_field({a[0].i, a[0].length, a[0].offset_minutes}, kField));
}

template <TimeField kField>
Value timestamp_field_in_zone(EvalContext& c, const Value* a) {
  // A zone that is not loaded yet, or does not exist, is looked up in the file system.
  constexpr uint64_t kLookup = 600;
  if (!lib::zone_is_at_hand(a[1].str()) && !c.spend(kLookup)) return aborted(c);
  auto v = lib::timestamp_field({a[0].i, a[0].length, a[0].offset_minutes}, kField, a[1].str());
  return v ? Value::of_int(*v) : failed(c, v.error());
}

template <TimeField kField>
Value duration_field(EvalContext&, const Value* a) {
  return Value::of_int(lib::duration_field(a[0].i, kField));
}

template <TimeField kField>
void add_getter(SpecList& out, std::string_view name, std::string_view id, std::string_view zone_id,
                std::string_view duration_id = {}) {
  out.push_back({name, id, "timestamp.() int", timestamp_field<kField>});
  out.push_back({name, zone_id, "timestamp.(string) int", timestamp_field_in_zone<kField>});
  if (!duration_id.empty()) out.push_back({name, duration_id, "duration.() int", duration_field<kField>});
}

}  // namespace

void add_time_specs(SpecList& out) {
  add_getter<TimeField::kFullYear>(out, "getFullYear", "timestamp_to_year", "timestamp_to_year_with_tz");
  add_getter<TimeField::kMonth>(out, "getMonth", "timestamp_to_month", "timestamp_to_month_with_tz");
  add_getter<TimeField::kDayOfYear>(out, "getDayOfYear", "timestamp_to_day_of_year",
                                    "timestamp_to_day_of_year_with_tz");
  add_getter<TimeField::kDayOfMonth>(out, "getDayOfMonth", "timestamp_to_day_of_month",
                                     "timestamp_to_day_of_month_with_tz");
  add_getter<TimeField::kDate>(out, "getDate", "timestamp_to_day_of_month_1_based",
                               "timestamp_to_day_of_month_1_based_with_tz");
  add_getter<TimeField::kDayOfWeek>(out, "getDayOfWeek", "timestamp_to_day_of_week",
                                    "timestamp_to_day_of_week_with_tz");
  add_getter<TimeField::kHours>(out, "getHours", "timestamp_to_hours", "timestamp_to_hours_with_tz",
                                "duration_to_hours");
  add_getter<TimeField::kMinutes>(out, "getMinutes", "timestamp_to_minutes", "timestamp_to_minutes_with_tz",
                                  "duration_to_minutes");
  add_getter<TimeField::kSeconds>(out, "getSeconds", "timestamp_to_seconds", "timestamp_to_seconds_tz",
                                  "duration_to_seconds");
  add_getter<TimeField::kMilliseconds>(out, "getMilliseconds", "timestamp_to_milliseconds",
                                       "timestamp_to_milliseconds_with_tz", "duration_to_milliseconds");
}

}  // namespace dra::cel
