// bundle: what a report of a bug needs, in one file.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/inspect/source/archive.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/source/redact_text.h"
#include "pkg/inspect/source/snapshot.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::kubectl {
namespace {

using inspect::ArchivedFile;
using nlohmann::json;

constexpr size_t kMaxManagers = 4;
constexpr size_t kMaxEvents = 2000;
constexpr const char* kLogLimits = "tailLines=20000&limitBytes=8388608";
constexpr const char* kFolder = "dra-bundle/";
// The API server passes no token on to a pod, so where the manager asks for one (the chart's default) its answers do
// not come this way.
constexpr const char* kAskItself =
    "; the manager serves it over HTTPS to those who may read it: kubectl port-forward -n NAMESPACE POD 8443, then "
    "curl -k -H \"Authorization: Bearer $(kubectl create token ACCOUNT)\" https://localhost:8443/PATH, where ACCOUNT "
    "has the ClusterRole dra-controller-manager:metrics-reader (metrics), or may get the URL /configz";

// One bundle while it is filled. What cannot be had is said in it, and stops nothing.
class Bundle {
 public:
  Bundle(Call& call, const inspect::Redactor& redactor) : call_(call), redactor_(redactor) {}

  void add(const std::string& name, std::string bytes) { files_.push_back({kFolder + name, std::move(bytes)}); }
  void add_text(const std::string& name, const std::string& text) { add(name, redacted(text)); }
  std::string redacted(const std::string& text) const { return inspect::redact_text(redactor_, text, gone_); }
  // A name that texts may have although no object does any more.
  void learn_name(const std::string& name) { gone_.insert(name); }

  // An answer of the server, redacted.
  void add_answer(const std::string& name, const std::string& target) {
    const auto answer = get(target);
    if (answer) return add_text(name, *answer);
    const Error& error = answer.error();
    // The API server's own refusals name the resource that may not be read.
    const bool by_manager = (error.http_status() == 401 || error.http_status() == 403) &&
                            target.find("/proxy/") != std::string::npos &&
                            error.message().find("pods/proxy") == std::string::npos;
    miss(name, error.message(), by_manager ? kAskItself : "");
  }
  Result<std::string> get(const std::string& target) {
    return call_.request([&](client::RestClient& client, client::RestClient::Done done) {
      return client.get_raw(target, std::move(done));
    });
  }
  void miss(const std::string& what, const std::string& why, const char* advice = "") {
    missing_.push_back(what + ": " + redacted(why) + advice);
    said_.push_back(what + ": " + why + advice);
  }

  // With the names as they are, for the terminal.
  const std::vector<std::string>& said() const { return said_; }
  std::vector<ArchivedFile> files() {
    if (!missing_.empty()) add("missing.txt", join(missing_, "\n") + "\n");
    return std::move(files_);
  }

 private:
  Call& call_;
  const inspect::Redactor& redactor_;
  std::vector<ArchivedFile> files_;
  std::vector<std::string> missing_, said_;
  inspect::NamesGone gone_;
};

std::string text_at(const json& object, const char* pointer) {
  const json::json_pointer at(pointer);
  return object.contains(at) && object[at].is_string() ? object[at].get<std::string>() : std::string();
}

// The port of a container named "metrics" or "http", over which a proxied request needs no token of its own.
int plain_port(const json& pod) {
  const json::json_pointer at("/spec/containers/0/ports");
  if (!pod.contains(at) || !pod[at].is_array()) return 8080;
  for (const json& port : pod[at])
    if (const std::string name = text_at(port, "/name"); (name == "http" || name == "metrics") &&
                                                         port.contains("containerPort") &&
                                                         port["containerPort"].is_number_integer())
      return port["containerPort"].get<int>();
  return 8080;
}

void add_manager(Bundle& bundle, const std::string& ns, size_t number, const json& pod) {
  const std::string name = text_at(pod, "/metadata/name");
  const std::string path = "/api/v1/namespaces/" + ns + "/pods/" + name;
  const std::string prefix = "manager-" + std::to_string(number) + "/";
  bundle.add_answer(prefix + "log.txt", path + "/log?" + kLogLimits);
  const std::string served = path + ":" + std::to_string(plain_port(pod)) + "/proxy";
  bundle.add_answer(prefix + "metrics.txt", served + "/metrics");
  bundle.add_answer(prefix + "configz.json", served + "/configz");
}

void add_managers(Bundle& bundle, const std::string& ns) {
  const std::string label = std::string(protocol::kManagerLabel) + "%3D" + std::string(protocol::kManagerName);
  const auto answer = bundle.get("/api/v1/namespaces/" + ns + "/pods?limit=50&labelSelector=" + label);
  const json pods = answer ? json::parse(*answer, nullptr, false) : json();
  if (!pods.is_object() || !pods.contains("items") || !pods["items"].is_array())
    return bundle.miss("the manager's pods", answer ? "the list cannot be read" : answer.error().message());
  size_t number = 0;
  for (const json& pod : pods["items"])
    if (pod.is_object() && number < kMaxManagers) add_manager(bundle, ns, ++number, pod);
  if (number == 0) bundle.miss("the manager's log, metrics and configz", "no pod with its label is in its namespace");
}

// One line an event, of what concerns devices: ours, and the scheduler's about pods.
void add_events(Bundle& bundle) {
  const auto answer = bundle.get("/apis/events.k8s.io/v1/events?limit=" + std::to_string(kMaxEvents));
  const json events = answer ? json::parse(*answer, nullptr, false) : json();
  if (!events.is_object() || !events.contains("items") || !events["items"].is_array())
    return bundle.miss("events", answer ? "the list cannot be read" : answer.error().message());
  std::string text;
  for (const json& event : events["items"]) bundle.learn_name(text_at(event, "/regarding/name"));
  for (const json& event : events["items"]) {
    const std::string by = text_at(event, "/reportingController"), kind = text_at(event, "/regarding/kind");
    if (!by.starts_with(protocol::kManagerName) && !(by == "default-scheduler" && kind == "Pod")) continue;
    std::string time = text_at(event, "/eventTime");
    if (time.empty()) time = text_at(event, "/deprecatedLastTimestamp");
    // A namespace may have the reporter's name, and would give it another one.
    text += time + " " + by + " " + text_at(event, "/type") + " " + text_at(event, "/reason") + " " + kind + " " +
            bundle.redacted(text_at(event, "/regarding/namespace") + "/" + text_at(event, "/regarding/name") +
                            " note=\"" + text_at(event, "/note") + "\"") +
            "\n";
  }
  bundle.add("events.txt", text);
}

std::string versions_of(const inspect::Objects& objects) {
  std::string text = std::string("kubectl-dra ") + DRA_VERSION + "\nserver " + objects.server_version +
                     "\nresource.k8s.io " + join(objects.dra_versions, ", ") + "\n";
  for (const auto& [key, lease] : objects.managers.leases) {
    const protocol::ManagerNotes notes = protocol::notes_of(lease->metadata.annotations);
    text += "manager " + notes.version + ", mode " + notes.mode + "\n";
  }
  return text;
}

// Judged on the redacted objects, so that it names nothing else.
std::string doctor_of(const std::string& snapshot) {
  const auto objects = inspect::read_snapshot_bytes(snapshot, "snapshot.dra");
  if (!objects) return objects.error().message();
  const inspect::State state(*objects, {});
  return inspect::render(inspect::doctor_answer(inspect::diagnose(state), *objects), {inspect::Format::kWide});
}

Result<inspect::Answer> run_bundle(Call& call) {
  if (!call.common.from.empty())
    return fail(Code::kInvalidArgument, "bundle reads a server; send the snapshot itself, if it is redacted");
  call.common.without_devices = call.common.asks_evictions = true;
  const std::string& redact = call.value("redact");
  inspect::SnapshotWriter writer(redact == "strict" ? inspect::Redaction::kStrict : inspect::Redaction::kNames);
  const auto loaded =
      call.load([&](std::string_view plural, std::string_view page) { return writer.add(plural, page); });
  if (!loaded) return fail(loaded.error());
  const inspect::Objects& objects = **loaded;
  std::string snapshot = writer.bytes(objects);
  Bundle bundle(call, writer.redactor());
  bundle.add("versions.txt", versions_of(objects));
  bundle.add("doctor.txt", doctor_of(snapshot));
  bundle.add("snapshot.dra", std::move(snapshot));
  add_events(bundle);  // first: the log may have the names in it
  std::string ns = call.common.manager_ns;
  if (ns.empty() && !objects.managers.leases.empty()) ns = objects.managers.leases.begin()->second->metadata.ns;
  if (ns.empty())
    bundle.miss("the manager's log, metrics and configz", "its namespace is not known; say --manager-namespace");
  else
    add_managers(bundle, ns);
  inspect::Answer answer{"DRABundle"};
  for (const std::string& missing : bundle.said()) answer.notes.push_back("not in it: " + missing);
  if (!bundle.said().empty()) answer.status = inspect::Status::kUnknown;
  const std::string& path = call.words[0];
  const std::vector<ArchivedFile> files = bundle.files();
  const std::string bytes = inspect::gzip(inspect::tar(files, objects.taken.seconds()));
  if (auto written = inspect::write_file(path, bytes); !written) return fail(written.error());
  answer.say({"Wrote",
              "wrote " + path + ": " + inspect::counted(files.size(), "file"),
              {},
              "",
              {{"files", files.size()}},
              {{"files", {path}}}});
  answer.after.push_back(
      "Read log.txt and events.txt in it before you send it: names that no object has any more are left out as far "
      "as they can be told from other words.");
  return answer;
}

const RegisterVerb kBundle(
    {"bundle",
     "write what a report of a bug needs into one file, redacted",
     "  kubectl dra bundle report.tar.gz   snapshot, the manager's log, metrics and configuration, events, versions\n"
     "  kubectl dra bundle report.tar.gz --redact=strict   without the names of drivers, classes and attributes\n",
     "bundle FILE.tar.gz",
     {{"--redact", "as in snapshot; names and labels are always replaced", false, {"strict"}}},
     1,
     1,
     {},
     &run_bundle});

}  // namespace
}  // namespace dra::kubectl
