// Events: one store, served as core/v1 (the hub) and events.k8s.io/v1.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxEventText = 128;
constexpr size_t kMaxNote = 1024;

struct Renamed {
  const char* core;
  const char* events;
};
constexpr Renamed kRenamed[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void move_member(Json& object, const char* from, const char* to) {
  auto it = object.find(from);
  if (it == object.end()) return;
  Json value = std::move(*it);
  object.erase(it);
  object[to] = std::move(value);
}

bool empty_text(const Json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() && it->get_ref<const std::string&>().empty();
}

void to_events_group(Json& object) {
  for (const auto& r : kRenamed) move_member(object, r.core, r.events);
  // Fields that core always prints and events.k8s.io omits if empty.
  for (const char* key : {"reportingController", "reportingInstance"}) {
    if (empty_text(object, key)) object.erase(key);
  }
  for (const char* key : {"eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"}) {
    if (!object.contains(key)) object[key] = nullptr;
  }
  set_default(object, "deprecatedSource", Json::object());
  set_default(object, "regarding", Json::object());
}

void to_core_group(Json& object) {
  for (const auto& r : kRenamed) move_member(object, r.events, r.core);
  for (const char* key : {"reportingComponent", "reportingInstance"}) set_default(object, key, "");
  for (const char* key : {"eventTime", "firstTimestamp", "lastTimestamp"}) {
    if (!object.contains(key)) object[key] = nullptr;
  }
  set_default(object, "source", Json::object());
  set_default(object, "involvedObject", Json::object());
}

void check_short(FieldErrors& out, const Json& event, const char* key) {
  const std::string& text = text_of(event, key);
  if (text.empty()) {
    out.push_back(required(FieldPath(key), ""));
  } else if (text.size() > kMaxEventText) {
    out.push_back(invalid(FieldPath(key), "", "can have at most 128 characters"));
  }
}

// Rules of both versions; the namespaces of the event and its object must match.
void check_common(FieldErrors& out, const Json& event, bool core) {
  const std::string& ns = text_of(member(event, "metadata"), "namespace");
  const std::string& object_ns = text_of(member(event, "involvedObject"), "namespace");
  const FieldPath object_path("involvedObject.namespace");
  constexpr std::string_view kMismatch = "does not match event.namespace";
  if (!is_set(event, "eventTime")) {
    const bool agree = object_ns.empty() ? ns.empty() || ns == "default" : ns == object_ns;
    if (!agree) out.push_back(invalid(object_path, object_ns, kMismatch));
    return;
  }
  if (object_ns.empty() && ns != "default" && ns != "kube-system") {
    out.push_back(invalid(object_path, object_ns, kMismatch));
  }
  const std::string& controller = text_of(event, "reportingComponent");
  const FieldPath controller_path(core ? "reportingComponent" : "reportingController");
  if (controller.empty()) out.push_back(required(controller_path, ""));
  add_problems(out, controller_path, controller, qualified_name_problems(controller));
  for (const char* key : {"reportingInstance", "action", "reason"}) check_short(out, event, key);
  if (text_of(event, "message").size() > kMaxNote) {
    out.push_back(invalid(FieldPath("message"), "", "can have at most 1024 characters"));
  }
}

void check_new_style(FieldErrors& out, const Json& event) {
  if (!is_set(event, "eventTime")) out.push_back(required(FieldPath("eventTime"), ""));
  const std::string& type = text_of(event, "type");
  if (type != "Normal" && type != "Warning") {
    out.push_back(invalid(FieldPath("type"), "", "has invalid value: " + type));
  }
  for (const char* key : {"firstTimestamp", "lastTimestamp"}) {
    if (is_set(event, key)) out.push_back(invalid(FieldPath(key), "", "needs to be unset"));
  }
  if (int_of(event, "count") != 0) out.push_back(invalid(FieldPath("count"), "", "needs to be unset"));
  const Json& source = member(event, "source");
  if (!text_of(source, "component").empty() || !text_of(source, "host").empty()) {
    out.push_back(invalid(FieldPath("source"), "", "needs to be unset"));
  }
}

const std::string& first_of(const std::string& a, const std::string& b) {
  return a.empty() ? b : a;
}

std::string since(const Json& timestamp, WallTime now) {
  return age_cell(timestamp, now);
}

class EventKind : public Kind {
 public:
  using Kind::Kind;

  void convert(Json& object, const GroupVersion& from, const GroupVersion& to) const override {
    if (from.group == to.group) return;
    if (to.group.empty()) {
      to_core_group(object);
    } else {
      to_events_group(object);
    }
  }

  // "No further validation for backwards compatibility" (ValidateEventCreate).
  bool validates_metadata(const WriteContext& ctx) const override { return !ctx.request_version.group.empty(); }

  FieldErrors validate_create(const WriteContext& ctx, const Json& object) const override {
    FieldErrors out;
    const bool core = ctx.request_version.group.empty();
    check_common(out, object, core);
    if (!core) check_new_style(out, object);
    return out;
  }

  FieldErrors validate_update(const WriteContext& ctx, const Json& object, const Json& old) const override {
    FieldErrors out;
    const bool core = ctx.request_version.group.empty();
    check_common(out, object, core);
    if (core) return out;
    for (const char* key : {"involvedObject", "reason", "message", "type", "action", "reportingComponent",
                            "reportingInstance", "eventTime", "related"}) {
      if (!semantic_equal(member(object, key), member(old, key))) {
        const std::string_view path = key == std::string_view("reportingComponent") ? "reportingController" : key;
        out.push_back(invalid_value(FieldPath(path), member(object, key), "field is immutable"));
      }
    }
    return out;
  }

  std::vector<TableColumn> columns() const override;

  Json cells(const Json& object, WallTime now) const override {
    const Json& regarding = member(object, "involvedObject");
    const Json& series = member(object, "series");
    std::string first = since(member(object, "firstTimestamp"), now);
    if (!is_set(object, "firstTimestamp")) first = since(member(object, "eventTime"), now);
    std::string last = is_set(object, "lastTimestamp") ? since(member(object, "lastTimestamp"), now) : first;
    int64_t count = int_of(object, "count");
    if (!series.is_null()) {
      last = since(member(series, "lastObservedTime"), now);
      count = int_of(series, "count");
    } else if (count == 0) {
      count = 1;
    }
    std::string target = to_lower(text_of(regarding, "kind"));
    if (!text_of(regarding, "name").empty()) target += "/" + text_of(regarding, "name");
    const Json& source = member(object, "source");
    std::string by = first_of(text_of(source, "component"), text_of(object, "reportingComponent"));
    const std::string& instance = first_of(text_of(source, "host"), text_of(object, "reportingInstance"));
    if (!instance.empty()) by += ", " + instance;
    return Json::array({last, text_of(object, "type"), text_of(object, "reason"), target,
                        text_of(regarding, "fieldPath"), by, std::string(trim(text_of(object, "message"))), first,
                        count, text_of(member(object, "metadata"), "name")});
  }

  std::vector<std::string> field_labels(const GroupVersion& gv) const override {
    const std::string prefix = gv.group.empty() ? "involvedObject." : "regarding.";
    std::vector<std::string> out = {"reason", "type"};
    for (const char* key : {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}) {
      out.push_back(prefix + key);
    }
    if (gv.group.empty()) {
      out.push_back("reportingComponent");
      out.push_back("source");
    } else {
      out.push_back("reportingController");
    }
    return out;
  }

  std::string field_value(const Json& object, std::string_view label, const GroupVersion&) const override {
    if (label.starts_with("regarding.")) return text_of(member(object, "involvedObject"), label.substr(10));
    if (label == "reportingController") return text_of(object, "reportingComponent");
    if (label == "source") {
      return first_of(text_of(member(object, "source"), "component"), text_of(object, "reportingComponent"));
    }
    return as_text(member_at(object, label));
  }

  std::string unknown_field_label(std::string_view label, const GroupVersion&) const override {
    return "field label not supported: " + std::string(label);
  }
};

std::vector<TableColumn> EventKind::columns() const {
  return {
      {"Last Seen", "string", "", "The time at which the most recent occurrence of this event was recorded.", 0},
      {"Type", "string", "", "Type of this event (Normal, Warning), new types could be added in the future", 0},
      {"Reason", "string", "",
       "This should be a short, machine understandable string that gives the reason for the transition into the "
       "object's current status.",
       0},
      {"Object", "string", "", "The object that this event is about.", 0},
      {"Subobject", "string", "",
       "If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go "
       "field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is "
       "to "
       "a container within a pod, this would take on a value like: \"spec.containers{name}\" (where \"name\" refers to "
       "the name of the container that triggered the event) or if no container name is specified "
       "\"spec.containers[2]\" "
       "(container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing "
       "a "
       "part of an object.",
       1},
      {"Source", "string", "", "The component reporting this event. Should be a short machine understandable string.",
       1},
      {"Message", "string", "", "A human-readable description of the status of this operation.", 0},
      {"First Seen", "string", "",
       "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)", 1},
      {"Count", "string", "", "The number of times this event has occurred.", 1},
      {"Name", "string", "name", std::string(name_column_description()), 1},
  };
}

}  // namespace

std::unique_ptr<Kind> make_event_kind() {
  KindInfo info = core_kind_info("Event", "events", "event", true);
  info.short_names = {"ev"};
  info.allow_create_on_update = true;
  info.served.push_back({{"events.k8s.io", "v1"}, "events/v1", ""});
  return std::make_unique<EventKind>(std::move(info));
}

}  // namespace dra::apiserver
