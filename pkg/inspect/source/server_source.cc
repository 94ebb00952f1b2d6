#include "pkg/inspect/source/server_source.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "client/rest/discovery.h"
#include "client/rest/rest_client.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::inspect {
namespace {

// One kind while its pages arrive.
struct ListInProgress {
  KindToRead kind;
  client::Resource resource;
  std::string ns;  // empty: everywhere
  std::string token;
  std::string name;        // for add_page()
  bool of_groups = false;  // PodGroups
  std::vector<std::string> pages;
  int restarts = 0;
  bool done = false;
  std::optional<Error> error;  // it ended without an answer
  std::string why_narrowed;    // why the whole cluster could not be listed
};

class Loader {
 public:
  Loader(AsioReactor& reactor, client::Transport& transport, const ServerOptions& options)
      : reactor_(reactor), client_(transport), options_(options) {}

  Result<Objects> run() {
    ask_version();
    const bool in_time = reactor_.run_until([this] { return finished(); }, options_.time_limit);
    calls_.clear();
    if (trouble_ && trouble_->message().starts_with("cannot reach ")) return fail(*trouble_);  // names the server
    if (trouble_) return fail(trouble_->wrap("cannot read " + options_.server));
    if (!in_time)
      return fail(Code::kDeadlineExceeded, options_.server + " did not answer all lists within " +
                                               std::to_string(options_.time_limit / std::chrono::seconds(1)) + " s");
    return collect();
  }

 private:
  using For = KindToRead::For;

  bool finished() const {
    if (!trouble_ && !managers_read_) return false;
    return trouble_ || (begun_ && std::all_of(lists_.begin(), lists_.end(), [](const auto& l) { return l->done; }));
  }

  void ask_version() {
    calls_.push_back(client_.get_raw("/version", [this](Result<std::string> answer) {
      if (!answer && answer.error().http_status() != 403) return give_up(answer.error());
      if (answer) {
        const auto version = nlohmann::json::parse(*answer, nullptr, false);
        if (version.is_object() && version.contains("gitVersion") && version["gitVersion"].is_string())
          objects_.server_version = version["gitVersion"].get<std::string>();
      }
      ask_gates();
    }));
  }

  // A refusal is harmless: the gates are then unknown.
  void ask_gates() {
    if (!options_.feature_gates) return ask_group();
    calls_.push_back(client_.get_raw("/metrics", [this](Result<std::string> answer) {
      if (answer) objects_.feature_gates = device_gates(*answer);
      ask_group();
    }));
  }

  void ask_group() {
    calls_.push_back(
        client::discover_group(client_, "resource.k8s.io", [this](Result<std::optional<client::ServedGroup>> answer) {
          if (!answer) return give_up(answer.error());
          if (*answer) objects_.dra_versions = (*answer)->versions;
          dra_version_ = *answer ? client::newest_of(**answer, {"v1", "v1beta2", "v1beta1"}) : "";
          for (const char* version : {"v1", "v1beta2", "v1alpha3"})
            if (*answer && !client::newest_of(**answer, {version}).empty()) rule_versions_.emplace_back(version);
          ask_rules(0);
        }));
  }

  // The newest version that has DeviceTaintRules: 1.36 serves v1 without them.
  void ask_rules(size_t at) {
    if (at == rule_versions_.size()) return begin();
    using Resources = std::optional<std::vector<client::ServedResource>>;
    calls_.push_back(client::discover_resources(
        client_, "resource.k8s.io", rule_versions_[at], [this, at](Result<Resources> answer) {
          const bool served = answer && *answer &&
                              std::any_of((*answer)->begin(), (*answer)->end(),
                                          [](const auto& one) { return one.name == "devicetaintrules"; });
          if (!served) return ask_rules(at + 1);
          objects_.taint_rules_served = true;
          objects_.taint_rule_version = rule_versions_[at];
          begin();
        }));
  }

  bool wanted(std::string_view plural) const {
    return options_.kinds.empty() ||
           std::find(options_.kinds.begin(), options_.kinds.end(), plural) != options_.kinds.end();
  }

  void begin() {
    for (const KindToRead& kind : kinds_to_read()) {
      if (!wanted(kind.plural)) continue;
      const bool rules = kind.plural == "devicetaintrules";
      if (rules && !objects_.taint_rules_served) continue;
      if (kind.needed_for == For::kEvictions && !options_.evictions) continue;
      const bool dra = kind.group == "resource.k8s.io";
      if (dra && dra_version_.empty()) continue;
      auto list = std::make_unique<ListInProgress>();
      list->kind = kind;
      list->resource = {std::string(kind.group),
                        !dra    ? "v1"
                        : rules ? objects_.taint_rule_version
                                : dra_version_,
                        std::string(kind.plural), std::string(kind.kind), kind.namespaced};
      if (kind.namespaced && !options_.kinds.empty()) list->ns = options_.ns;
      list->name = kind.plural;
      lists_.push_back(std::move(list));
    }
    begun_ = true;
    managers_read_ = !options_.kinds.empty();
    if (!managers_read_) ask_managers(/*by_name=*/false);
    for (size_t i = 0, all = lists_.size(); i < all; ++i) ask_page(*lists_[i]);
  }

  // A role may allow the one Lease by its name alone; then the server wants the name in the request.
  void ask_managers(bool by_name) {
    static const client::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
    const std::string name(protocol::kManagerName);
    client::Query query{{"limit", std::to_string(kPageSize)},
                        {"labelSelector", std::string(protocol::kManagerLabel) + "=" + name}};
    if (by_name) query.emplace_back("fieldSelector", "metadata.name=" + name);
    calls_.push_back(client_.list(kLeases, options_.manager_ns, query, [this, by_name](Result<std::string> answer) {
      if (!answer && answer.error().http_status() == 403 && !by_name) return ask_managers(true);
      managers_ = std::move(answer);
      managers_read_ = true;
    }));
  }

  void ask_page(ListInProgress& list) {
    client::Query query{{"limit", std::to_string(kPageSize)}, {"continue", list.token}};
    calls_.push_back(client_.list(list.resource, list.ns, query,
                                  [this, &list](Result<std::string> answer) { on_page(list, std::move(answer)); }));
  }

  void on_page(ListInProgress& list, Result<std::string> answer) {
    if (!answer) return on_error(list, answer.error());
    // Decoded when all pages are there; here only if the list continues.
    list.token = continue_token(*answer);
    list.pages.push_back(std::move(*answer));
    if (list.token.empty()) {
      if (list.kind.plural == "pods" && options_.kinds.empty()) ask_groups(list);
      list.done = true;
    } else if (list.pages.size() >= kMaxPages) {
      give_up(Error(Code::kResourceExhausted, std::string(list.kind.plural) + " have more pages than are read"));
    } else {
      ask_page(list);
    }
  }

  // PodGroups that pods name.
  void ask_groups(const ListInProgress& pods) {
    for (const GroupsToRead& groups : groups_to_read()) {
      if (std::none_of(pods.pages.begin(), pods.pages.end(),
                       [&](const std::string& page) { return page.find(groups.mention) != std::string::npos; }))
        continue;
      auto list = std::make_unique<ListInProgress>();
      list->kind = {groups.group, "podgroups", "PodGroup", true};
      list->resource = {std::string(groups.group), std::string(groups.version), "podgroups", "PodGroup", true};
      list->name = groups.name;
      list->of_groups = true;
      list->ns = pods.ns;
      lists_.push_back(std::move(list));
      // As the manager: the version in which the server has them.
      calls_.push_back(client::discover_version_with(client_, lists_.back()->resource.group, "podgroups",
                                                     [this, &found = *lists_.back()](const std::string& version) {
                                                       if (!version.empty()) found.resource.version = version;
                                                       ask_page(found);
                                                     }));
    }
  }

  void on_error(ListInProgress& list, const Error& error) {
    if (error.http_status() == 410 && list.restarts < kMaxRestarts) {
      ++list.restarts;
      list.pages.clear();
      list.token.clear();
      return ask_page(list);
    }
    if (error.http_status() == 403 && list.kind.namespaced && list.ns.empty() && !options_.ns.empty()) {
      list.why_narrowed = short_reason(error);
      list.ns = options_.ns;
      list.token.clear();
      list.pages.clear();
      return ask_page(list);
    }
    // Whatever the server answers for the other kinds, questions about devices must still be answered.
    const bool can_do_without = error.http_status() == 403 || error.http_status() == 404 ||
                                ((list.kind.needed_for != For::kDevices || list.of_groups) &&
                                 error.http_status() >= 400 && error.http_status() != 401);
    if (!can_do_without) return give_up(error);
    list.error = error;
    list.done = true;
  }

  void give_up(const Error& error) {
    if (!trouble_) trouble_ = error;
  }

  // metadata is before or after the items; the token is searched in both, but not inside items.
  static std::string continue_token(const std::string& page) {
    struct Handler : nlohmann::json_sax<nlohmann::json> {
      int depth = 0;
      bool in_metadata = false, is_token = false;
      std::string token;
      bool null() override { return true; }
      bool boolean(bool) override { return true; }
      bool number_integer(number_integer_t) override { return true; }
      bool number_unsigned(number_unsigned_t) override { return true; }
      bool number_float(number_float_t, const string_t&) override { return true; }
      bool string(string_t& value) override {
        if (is_token) token = value;
        is_token = false;
        return true;
      }
      bool binary(binary_t&) override { return true; }
      bool start_object(std::size_t) override { return ++depth < 1000; }
      bool key(string_t& value) override {
        if (depth == 1) in_metadata = value == "metadata";
        is_token = depth == 2 && in_metadata && value == "continue";
        // A server writes metadata first: what follows the items is not needed once the token is known.
        return !(depth == 1 && value == "items" && seen_metadata_end);
      }
      bool end_object() override {
        if (--depth == 1 && in_metadata) {
          seen_metadata_end = true;
          in_metadata = false;
        }
        return true;
      }
      bool start_array(std::size_t) override { return ++depth < 1000; }
      bool end_array() override { return --depth >= 0; }
      bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }
      bool seen_metadata_end = false;
    } handler;
    nlohmann::json::sax_parse(page, &handler);
    return handler.token;
  }

  // Enough for a note: the server's message about a refusal is long and the same for each kind.
  static std::string short_reason(const Error& error) {
    return error.http_status() == 403 ? std::string(kMayNotList) : error.message();
  }

  // Whatever the server answers, questions about devices are still answered.
  Result<void> collect_managers() {
    if (!managers_) return {};
    objects_.managers.asked = true;
    objects_.managers.ns = options_.manager_ns;
    const auto added =
        *managers_ ? add_page(objects_, "leases", **managers_) : Result<PageEnd>(fail(managers_->error()));
    if (!added) {
      objects_.managers.why_hidden =
          added.error().http_status() == 403 ? "you may not read it" : added.error().message();
      return {};
    }
    return options_.on_page ? options_.on_page("leases", **managers_) : Result<void>();
  }

  Result<Objects> collect() {
    size_t readable = 0;
    objects_.evictions.asked = options_.evictions && options_.kinds.empty();
    objects_.storage_read = true;
    objects_.quotas.asked = wanted("resourcequotas");
    for (auto& list : lists_) {
      const std::string plural(list->kind.plural);
      auto& hidden = list->kind.needed_for == For::kStorage     ? objects_.hidden_storage
                     : list->kind.needed_for == For::kQuotas    ? objects_.quotas.hidden
                     : list->kind.needed_for == For::kEvictions ? objects_.evictions.hidden
                                                                : objects_.hidden;
      // If PodGroups are not served, the pods are in no group.
      if (list->error && list->of_groups && list->error->http_status() == 404) continue;
      if (list->error) {
        hidden.push_back({plural, short_reason(*list->error)});
        continue;
      }
      readable += list->kind.needed_for != For::kDevices || list->of_groups ? 0 : 1;
      if (!list->why_narrowed.empty())
        hidden.push_back({plural + " outside namespace " + list->ns, list->why_narrowed});
      for (const std::string& page : list->pages) {
        auto added = add_page(objects_, list->name, page);
        if (!added) return fail(added.error().wrap("the list of " + plural));
        if (options_.on_page)
          if (auto seen = options_.on_page(list->name, page); !seen) return fail(seen.error());
      }
      list->pages.clear();
    }
    if (auto added = collect_managers(); !added) return fail(added.error());
    if (readable == 0 && !lists_.empty()) return fail(nothing_readable());
    objects_.taken = reactor_.clock().wall_now();
    objects_.origin = options_.server;
    return std::move(objects_);
  }

  Error nothing_readable() const {
    const Error& first = *lists_.front()->error;
    return Error(Code::kPermissionDenied,
                 options_.server + " allows none of the lists that are needed: " + first.message() +
                     (first.http_status() == 403 ? "; ask for the ClusterRole " + std::string(kViewerRole) +
                                                       ", or name a namespace that you may read: -n NAMESPACE"
                                                 : ""));
  }

  AsioReactor& reactor_;
  client::RestClient client_;
  const ServerOptions& options_;
  Objects objects_;
  std::string dra_version_;
  std::vector<std::string> rule_versions_;
  std::vector<std::unique_ptr<ListInProgress>> lists_;
  std::vector<Handle> calls_;
  std::optional<Error> trouble_;
  std::optional<Result<std::string>> managers_;  // the list of their Leases
  bool managers_read_ = false;
  bool begun_ = false;
};

}  // namespace

std::map<std::string, bool> device_gates(std::string_view metrics) {
  constexpr std::string_view kMetric = "kubernetes_feature_enabled{name=\"";
  constexpr size_t kMost = 64;
  std::map<std::string, bool> gates;
  for (size_t at = metrics.find(kMetric); at != std::string_view::npos && gates.size() < kMost;
       at = metrics.find(kMetric, at + 1)) {
    const std::string_view line = metrics.substr(at + kMetric.size(), metrics.find('\n', at) - at - kMetric.size());
    const std::string_view name = line.substr(0, line.find('"'));
    if (name.starts_with("DRA") || name == "DynamicResourceAllocation") gates[std::string(name)] = line.ends_with(" 1");
  }
  return gates;
}

Result<Objects> load_from_server(AsioReactor& reactor, client::Transport& transport, const ServerOptions& options) {
  return Loader(reactor, transport, options).run();
}

}  // namespace dra::inspect
