#include "pkg/web/cluster_watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/informer/reflector.h"
#include "client/rest/discovery.h"
#include "client/rest/status.h"
#include "pkg/base/timestamp.h"
#include "pkg/inspect/source/prune.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::web {
namespace {

using For = inspect::KindToRead::For;

// An object as the line of the feed that it becomes.
struct RawObject {
  api::ObjectMeta metadata;
  Feed::Line line;
};

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<client::Entry> entry_of_object(const std::string& name, nlohmann::json& object) {
  if (!object.is_object() || !object.contains("metadata") || !object["metadata"].is_object())
    return fail(Code::kInvalidArgument, "an object of " + name + " has no metadata");
  RawObject raw;
  const nlohmann::json& metadata = object["metadata"];
  raw.metadata.name = text_in(metadata, "name");
  raw.metadata.ns = text_in(metadata, "namespace");
  raw.metadata.uid = text_in(metadata, "uid");
  raw.metadata.resource_version = text_in(metadata, "resourceVersion");
  inspect::prune(name, object);
  raw.line = std::make_shared<const std::string>(
      line_of(name, object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  return client::make_entry<RawObject>(std::move(raw));
}

Result<client::EntryPage> entries_of_list(const std::string& name, std::string_view text) {
  nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_object() || !list.contains("metadata") || !list["metadata"].is_object())
    return fail(Code::kInvalidArgument, "the list of " + name + " cannot be read");
  const auto revision = client::parse_revision(text_in(list["metadata"], "resourceVersion"));
  if (!revision) return fail(revision.error().wrap("the list of " + name));
  client::EntryPage page{*revision, text_in(list["metadata"], "continue"), {}, {}, {}};
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return page;
  for (nlohmann::json& item : *items) {
    auto entry = entry_of_object(name, item);
    if (entry) {
      page.entries.push_back(std::move(*entry));
    } else {
      page.errors.push_back(entry.error());
      page.unreadable.emplace_back();
    }
  }
  return page;
}

client::ObjectType type_of(const std::string& name) {
  client::ObjectType type;
  type.decode = [name](std::string_view text) -> Result<client::Entry> {
    nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    return entry_of_object(name, object);
  };
  type.decode_list = [name](std::string_view text) { return entries_of_list(name, text); };
  return type;
}

}  // namespace

// Sees the status of each answer to the requests of one kind.
class ClusterWatch::Tap : public client::Transport {
 public:
  using Seen = std::function<void(int status, const std::string& message)>;
  Tap(client::Transport& transport, Seen seen) : transport_(transport), seen_(std::move(seen)) {}

  Handle send(client::Request request, Done done) override {
    return transport_.send(std::move(request), [seen = seen_, done = std::move(done)](Result<client::Response> answer) {
      tell(seen, answer);
      done(std::move(answer));
    });
  }
  Handle stream(client::Request request, client::StreamCallbacks callbacks) override {
    auto opened = std::move(callbacks.on_open);
    callbacks.on_open = [seen = seen_, opened = std::move(opened)](const client::Response& head) {
      seen(head.status, "");
      if (opened) opened(head);
    };
    auto ended = std::move(callbacks.on_end);
    callbacks.on_end = [seen = seen_, ended = std::move(ended)](Result<client::Response> answer) {
      // A stream that ends in order is opened again; one that is cut may be.
      if (answer && !answer->ok()) tell(seen, answer);
      if (!answer) tell(seen, answer);
      ended(std::move(answer));
    };
    return transport_.stream(std::move(request), std::move(callbacks));
  }

 private:
  static void tell(const Seen& seen, const Result<client::Response>& answer) {
    if (!answer)
      seen(answer.error().code() == Code::kUnauthenticated ? 401 : 0, answer.error().message());
    else if (answer->ok())
      seen(answer->status, "");
    else
      seen(answer->status, client::error_from_response(*answer, "list and watch").message());
  }
  client::Transport& transport_;
  Seen seen_;
};

struct ClusterWatch::Kind {
  inspect::KindToRead kind;
  std::string name;  // for add_page()
  client::Resource resource;
  std::string ns;  // empty: everywhere
  bool of_groups = false, of_managers = false;
  std::string why_narrowed, why_hidden;
  bool ended = false;
  // The failure that goes on, and since when.
  std::string trouble;
  int status = 0;
  Timestamp since;
  std::unique_ptr<Tap> tap;
  std::unique_ptr<client::ObjectStore> store;
  std::unique_ptr<client::Reflector> reflector;
};

ClusterWatch::ClusterWatch(Reactor& reactor, client::Transport& transport, Random& random, WatchOptions options,
                           Feed& feed)
    : reactor_(reactor), transport_(transport), random_(random), options_(std::move(options)), feed_(feed) {}

ClusterWatch::~ClusterWatch() = default;

void ClusterWatch::start() {
  const auto serves = [this](const char* version) {
    const auto& all = options_.served.dra_versions;
    return std::find(all.begin(), all.end(), version) != all.end();
  };
  const std::string dra = serves("v1") ? "v1" : serves("v1beta2") ? "v1beta2" : serves("v1beta1") ? "v1beta1" : "";
  const std::string rules = serves("v1beta2") ? "v1beta2" : serves("v1alpha3") ? "v1alpha3" : "";
  for (const inspect::KindToRead& kind : inspect::kinds_to_read()) {
    if (kind.needed_for == inspect::KindToRead::For::kEvictions) continue;  // the page says nothing about them
    const bool of_dra = kind.group == "resource.k8s.io", of_rules = kind.plural == "devicetaintrules";
    if (of_rules ? (rules.empty() || !options_.served.taint_rules_served) : (of_dra && dra.empty())) continue;
    add(kind, !of_dra ? "v1" : of_rules ? rules : dra, std::string(kind.plural));
  }
  add({"coordination.k8s.io", "leases", "Lease", true}, "v1", "leases");
  write_header();
}

void ClusterWatch::add(const inspect::KindToRead& kind, const std::string& version, const std::string& name) {
  auto added = std::make_unique<Kind>();
  added->kind = kind;
  added->name = name;
  added->resource = {std::string(kind.group), version, std::string(kind.plural), std::string(kind.kind),
                     kind.namespaced};
  added->of_groups = kind.plural == "podgroups";
  added->of_managers = kind.plural == "leases";
  if (added->of_managers) added->ns = options_.manager_ns;
  kinds_.push_back(std::move(added));
  begin(*kinds_.back());
}

void ClusterWatch::begin(Kind& kind) {
  kind.tap = std::make_unique<Tap>(
      transport_, [this, &kind](int status, const std::string& message) { on_status(kind, status, message); });
  kind.store = std::make_unique<client::ObjectStore>();
  kind.store->on_stream_change([this, &kind](const client::EntryChange& change) {
    if (change.after == nullptr) return feed_.remove(kind.name, change.before->key());
    const Feed::Line& line = change.after->ref<RawObject>().line;
    feed_.put(kind.name, change.after->key(), line);
    if (kind.name == "pods") look_for_groups(*line);
  });
  kind.store->on_replaced([this] { write_header(); });
  client::ReflectorOptions options;
  options.resource = kind.resource;
  options.ns = kind.ns;
  if (kind.of_managers)
    options.label_selector = std::string(protocol::kManagerLabel) + "=" + std::string(protocol::kManagerName);
  kind.reflector = std::make_unique<client::Reflector>(reactor_, *kind.tap, random_, type_of(kind.name), *kind.store,
                                                       std::move(options));
  kind.reflector->start();
}

void ClusterWatch::on_status(Kind& kind, int status, const std::string& message) {
  if (status >= 200 && status < 300) {
    if (kind.trouble.empty()) return;
    kind.trouble.clear();
    return write_header();
  }
  // Watching may need more rights than listing has, and a list that begins again is no failure.
  if (status == 410) return;
  const bool can_do_without =
      status == 403 || status == 404 || (kind.kind.needed_for != For::kDevices && status >= 400 && status != 401);
  if (can_do_without && !kind.store->synced()) {
    kind.status = status;  // PodGroups that are not served are not hidden: there are none
    reactor_.post([this, &kind, status, message, alive = std::weak_ptr<const bool>(alive_)] {
      if (alive.expired()) return;
      end(kind, status == 403 ? std::string(inspect::kMayNotList) : message);
    });
    return;
  }
  if (kind.trouble.empty()) kind.since = reactor_.clock().wall_now();
  kind.trouble = message.empty() ? "the server answers " + std::to_string(status) : message;
  kind.status = status;
  write_header();
}

// The kind cannot be listed: in one namespace it may be.
void ClusterWatch::end(Kind& kind, const std::string& why) {
  if (kind.ended) return;
  const bool forbidden = why == inspect::kMayNotList;
  kind.reflector->stop();
  if (forbidden && kind.kind.namespaced && kind.ns.empty() && !options_.ns.empty() && !kind.of_managers) {
    kind.ns = options_.ns;
    kind.why_narrowed = why;
    return begin(kind);
  }
  kind.ended = true;
  kind.why_hidden = why;
  write_header();
}

void ClusterWatch::look_for_groups(const std::string& line) {
  for (const inspect::GroupsToRead& groups : inspect::groups_to_read()) {
    if (line.find(groups.mention) == std::string::npos || !groups_.insert(std::string(groups.name)).second) continue;
    client::RestClient client(transport_);
    calls_.push_back(client::discover_version_with(
        client, std::string(groups.group), "podgroups", [this, &groups](const std::string& version) {
          add({groups.group, "podgroups", "PodGroup", true}, version.empty() ? std::string(groups.version) : version,
              std::string(groups.name));
        }));
  }
}

bool ClusterWatch::synced() const {
  return !kinds_.empty() && std::all_of(kinds_.begin(), kinds_.end(),
                                        [](const auto& kind) { return kind->ended || kind->store->synced(); });
}

inspect::Objects ClusterWatch::without_objects() const {
  inspect::Objects objects = options_.served;
  objects.taken = reactor_.clock().wall_now();
  objects.origin = options_.server;
  objects.storage_read = objects.quotas.asked = objects.managers.asked = true;
  objects.managers.ns = options_.manager_ns;
  for (const auto& kind : kinds_) {
    auto& hidden = kind->kind.needed_for == For::kStorage  ? objects.hidden_storage
                   : kind->kind.needed_for == For::kQuotas ? objects.quotas.hidden
                                                           : objects.hidden;
    const std::string plural(kind->kind.plural);
    if (kind->of_managers) {
      if (kind->ended)
        objects.managers.why_hidden =
            kind->why_hidden == inspect::kMayNotList ? "you may not read it" : kind->why_hidden;
    } else if (kind->ended && !(kind->of_groups && kind->status == 404)) {
      hidden.push_back({plural, kind->why_hidden});
    } else if (!kind->why_narrowed.empty()) {
      hidden.push_back({plural + " outside namespace " + kind->ns, kind->why_narrowed});
    }
  }
  return objects;
}

void ClusterWatch::write_header() {
  const inspect::Objects objects = without_objects();
  nlohmann::json hidden = nlohmann::json::array(), troubles = nlohmann::json::array(), missing = hidden;
  for (const inspect::Hidden& one : objects.hidden) hidden.push_back({{"what", one.what}, {"why", one.why}});
  for (const auto& kind : kinds_) {
    if (!kind->trouble.empty())
      troubles.push_back({{"what", kind->name},
                          {"why", kind->trouble},
                          {"status", kind->status},
                          {"since", format_rfc3339(kind->since)}});
    if (!kind->ended && !kind->store->synced()) missing.push_back(kind->name);
  }
  feed_.set_header(nlohmann::json{
      {"format", "kubectl-dra web"},
      {"live", true},
      {"server", objects.origin},
      {"serverVersion", objects.server_version},
      {"namespace", options_.ns},
      {"hidden", hidden},
      {"troubles", troubles},
      {"reading",
       missing}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace dra::web
