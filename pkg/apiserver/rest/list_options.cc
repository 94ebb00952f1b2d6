// Options of lists and watches: parsing (400) and checking (422), as metainternalversion does.
#include <charconv>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/rest/watch.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

StatusOr<std::optional<int64_t>> parse_int_option(const Call& call, std::string_view name) {
  const std::string& text = call.query.get(name);
  if (!call.query.has(name)) return std::nullopt;
  int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc::result_out_of_range) {
    return fail_status(bad_request("strconv.ParseInt: parsing " + quote(text) + ": value out of range"));
  }
  if (ec != std::errc() || end != text.data() + text.size()) {
    return fail_status(bad_request("strconv.ParseInt: parsing " + quote(text) + ": invalid syntax"));
  }
  return value;
}

bool parse_revision(const std::string& text, uint64_t& out) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  return ec == std::errc() && end == text.data() + text.size();
}

FieldErrors check_watch(const Call& call, const ListOptions& o) {
  FieldErrors errors;
  const FieldPath match("resourceVersionMatch");
  if (!o.match.empty() && !o.send_initial_events) {
    errors.push_back(
        forbidden(match, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (o.send_initial_events) {
    if (o.match != "NotOlderThan") {
      errors.push_back(forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    if (!o.match.empty() && o.match != "NotOlderThan") {
      errors.push_back(not_supported(match, o.match, {"NotOlderThan"}));
    }
  }
  (void)call;
  if (!o.continue_token.empty()) {
    errors.push_back(forbidden(match, "resourceVersionMatch is forbidden when continue is provided"));
  }
  return errors;
}

void check_match(const ListOptions& o, FieldErrors& errors) {
  const FieldPath match("resourceVersionMatch");
  if (o.resource_version.empty()) {
    errors.push_back(forbidden(match, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (!o.continue_token.empty()) {
    errors.push_back(forbidden(match, "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (o.match != "Exact" && o.match != "NotOlderThan") {
    errors.push_back(not_supported(match, o.match, {"Exact", "NotOlderThan", ""}));
  }
  if (o.match == "Exact" && o.resource_version == "0") {
    errors.push_back(forbidden(match, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  }
}

FieldErrors check_list(const ListOptions& o) {
  FieldErrors errors;
  if (!o.match.empty()) check_match(o, errors);
  if (o.send_initial_events) {
    errors.push_back(forbidden(FieldPath("sendInitialEvents"), "sendInitialEvents is forbidden for list"));
  }
  return errors;
}

}  // namespace

StatusOr<ListOptions> parse_list_options(const Call& call) {
  ListOptions o;
  const Query& q = call.query;
  auto limit = parse_int_option(call, "limit");
  if (!limit) return fail_status(limit.error());
  o.limit = limit->value_or(0);
  auto timeout = parse_int_option(call, "timeoutSeconds");
  if (!timeout) return fail_status(timeout.error());
  o.timeout_seconds = *timeout;
  o.watch = q.flag("watch") || call.path.old_watch;
  o.allow_bookmarks = q.flag("allowWatchBookmarks");
  if (q.has("sendInitialEvents")) o.send_initial_events = q.flag("sendInitialEvents");
  o.resource_version = q.get("resourceVersion");
  o.match = q.get("resourceVersionMatch");
  o.continue_token = q.get("continue");

  auto labels = LabelSelector::parse(q.get("labelSelector"));
  if (!labels) return fail_status(labels.error());
  o.labels = std::move(*labels);
  auto fields = FieldSelector::parse(q.get("fieldSelector"), *call.kind, call.gv());
  if (!fields) return fail_status(fields.error());
  o.fields = std::move(*fields);

  const FieldErrors errors = o.watch ? check_watch(call, o) : check_list(o);
  if (!errors.empty()) return fail_status(invalid_status({"meta.k8s.io", "ListOptions"}, "", errors));

  if (!o.resource_version.empty() && !parse_revision(o.resource_version, o.revision)) {
    const std::string text = "resourceVersion: Invalid value: " + quote(o.resource_version) +
                             ": strconv.ParseUint: parsing " + quote(o.resource_version) + ": invalid syntax";
    if (o.watch) return fail_status(plain_error(text));
    return fail_status(bad_request("invalid resource version: " + text));
  }
  if (call.path.old_watch) o.only_name = call.path.name;
  return o;
}

bool list_matches(const Call& call, const ListOptions& options, const std::string& key, const StoredObject& object) {
  const KindInfo& info = call.kind->info();
  const std::string& ns = call.path.namespace_;
  if (info.namespaced && !ns.empty()) {
    if (key.size() <= ns.size() || key.compare(0, ns.size(), ns) != 0 || key[ns.size()] != '/') return false;
  }
  if (!options.only_name.empty()) {
    const size_t slash = info.namespaced ? key.find('/') + 1 : 0;
    if (std::string_view(key).substr(slash) != options.only_name) return false;
  }
  if (options.labels.empty() && options.fields.empty()) return true;
  const auto document = object.document();
  if (!options.labels.empty()) {
    const Json& meta = document->at("metadata");
    auto labels = meta.find("labels");
    if (!options.labels.matches(labels == meta.end() ? Json() : *labels)) return false;
  }
  return options.fields.empty() || options.fields.matches(*document, *call.kind, call.gv());
}

void for_each_in_scope(const Call& call, const Store::Objects& objects,
                       const std::function<bool(const std::string& key, const StoredPtr&)>& visit,
                       const std::string& after) {
  const std::string prefix =
      call.kind->info().namespaced && !call.path.namespace_.empty() ? call.path.namespace_ + "/" : "";
  for (auto it = after < prefix ? objects.lower_bound(prefix) : objects.upper_bound(after); it != objects.end(); ++it) {
    if (it->first.compare(0, prefix.size(), prefix) != 0) return;
    if (!visit(it->first, it->second)) return;
  }
}

}  // namespace dra::apiserver
