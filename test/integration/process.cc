#include "test/integration/process.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "pkg/base/strings.h"

namespace dra::integration {
namespace {

// The target of a request: "resourceclaims/<namespace>/<name>", and the subresource.
struct Target {
  std::string plural, ns, name, subresource;
};

Target parse_target(const std::string& target) {
  const std::string path = target.substr(0, target.find('?'));
  std::vector<std::string> parts;
  size_t at = 0;
  while (at < path.size()) {
    const size_t slash = path.find('/', at);
    if (slash != at) parts.push_back(path.substr(at, slash == std::string::npos ? slash : slash - at));
    if (slash == std::string::npos) break;
    at = slash + 1;
  }
  Target result;
  size_t i = !parts.empty() && parts[0] == "api" ? 2 : 3;  // after /api/v1 or /apis/group/version
  if (i + 1 < parts.size() && parts[i] == "namespaces") {
    result.ns = parts[i + 1];
    i += 2;
  }
  if (i < parts.size()) result.plural = parts[i++];
  if (i < parts.size()) result.name = parts[i++];
  if (i < parts.size()) result.subresource = parts[i];
  return result;
}

std::string plural_of(reconcile::Kind kind) {
  switch (kind) {
    case reconcile::Kind::kPod:
      return "pods";
    case reconcile::Kind::kClaim:
      return "resourceclaims";
    case reconcile::Kind::kTaintRule:
      return "devicetaintrules";
    default:
      return std::string(reconcile::kind_name(kind));
  }
}

}  // namespace

void WriteGuard::announce(std::string_view controller, const reconcile::Write& write) {
  const std::string key = plural_of(write.object.kind) + "/" + write.object.ns + "/" + write.object.name;
  announced_[key] = std::string(controller) + "/" + write.purpose;
}

void WriteGuard::crash_at(CrashPoint point, std::function<void()> crash) {
  armed_ = std::move(point);
  crash_ = std::move(crash);
}

std::string WriteGuard::name_of(const client::Request& request) const {
  const Target target = parse_target(request.target);
  const bool create = request.method == "POST";
  if (target.plural == "events") return create ? "events/create" : "events/update";
  if (target.plural == "leases") return create ? "lease/create" : "lease/update";
  std::string name = target.name;
  // A create names its object in the body.
  if (create && target.plural == "resourceclaims" && name.empty())
    name = nlohmann::json::parse(request.body).at("metadata").at("name").get<std::string>();
  const auto announced = announced_.find(target.plural + "/" + target.ns + "/" + name);
  return announced == announced_.end() ? "" : announced->second;
}

Handle WriteGuard::send(client::Request request, Done done) {
  const bool review = request.target.find("/authorization.k8s.io/") != std::string::npos;
  if (request.method == "GET" || review) return inner_.send(std::move(request), std::move(done));
  const std::string name = name_of(request);
  if (name.empty()) ++unnamed_[request.method + " " + request.target];
  const size_t count = ++seen_[name];
  if (crashed_ || !armed_ || armed_->point != name || armed_->occurrence != count)
    return inner_.send(std::move(request), std::move(done));
  crashed_ = true;
  if (!armed_->after) {
    reactor_.post(crash_);
    return Handle(std::make_unique<Handle::Impl>());
  }
  return inner_.send(std::move(request), [this](const Result<client::Response>&) { reactor_.post(crash_); });
}

Handle WriteGuard::stream(client::Request request, client::StreamCallbacks callbacks) {
  return inner_.stream(std::move(request), std::move(callbacks));
}

Process::Process(Reactor& reactor, client::Transport& server, ProcessOptions options)
    : reactor_(reactor),
      options_(std::move(options)),
      random_(options_.seed),
      network_(reactor, server, nullptr),
      guard_(reactor, network_) {
  options_.manager.identity = options_.identity;
  options_.manager.on_write = [this](std::string_view controller, const reconcile::Write& write) {
    guard_.announce(controller, write);
  };
  manager_ = std::make_unique<manager::Manager>(reactor_, guard_, random_, registry_, options_.manager);
}

Process::~Process() = default;

void Process::start() {
  manager_->start();
  if (!options_.elect) return manager_->lead();
  election_client_ = std::make_unique<client::RestClient>(guard_);
  client::ElectorOptions options;
  options.identity = options_.identity;
  options.annotations = [this] { return manager_->lease_annotations("test"); };
  client::ElectorCallbacks callbacks;
  callbacks.on_annotations_changed = [this](const auto& ours, const auto& now) {
    manager_->lease_annotations_changed(ours, now);
  };
  callbacks.on_taking = [this](const auto& annotations) { manager_->lease_taken(annotations); };
  callbacks.on_started = [this] { manager_->lead(); };
  callbacks.on_stopped = [this](const std::string&) { manager_->stop_leading(); };
  callbacks.on_new_leader = [](const std::string&) {};
  elector_ =
      std::make_unique<client::Elector>(reactor_, *election_client_, random_, std::move(options), std::move(callbacks));
  elector_->start();
}

}  // namespace dra::integration
