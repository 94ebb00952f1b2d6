// version: of this program, of the server, and of the manager that leads there.
#include <nlohmann/json.hpp>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/timestamp.h"
#include "pkg/inspect/source/object_list.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::kubectl {
namespace {

using nlohmann::json;

const client::Resource kManagerLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

// The server's version and the managers' Leases alone: a large cluster need not be read for that.
Result<inspect::Objects> read_versions(Call& call) {
  if (!call.common.from.empty()) {
    const auto loaded = call.load();
    if (!loaded) return fail(loaded.error());
    return inspect::Objects(**loaded);  // pointers only
  }
  inspect::Objects objects;
  objects.taken = SystemClock().wall_now();
  const auto version = call.request([](client::RestClient& client, client::RestClient::Done done) {
    return client.get_raw("/version", std::move(done));
  });
  if (!version) return fail(version.error());
  const json read = json::parse(*version, nullptr, false);
  if (read.is_object() && read.contains("gitVersion") && read["gitVersion"].is_string())
    objects.server_version = read["gitVersion"].get<std::string>();
  const std::string name(protocol::kManagerName);
  const auto leases = call.request([&](client::RestClient& client, client::RestClient::Done done) {
    const client::Query query{{"labelSelector", std::string(protocol::kManagerLabel) + "=" + name}};
    return client.list(kManagerLeases, call.common.manager_ns, query, std::move(done));
  });
  objects.managers.asked = true;
  objects.managers.ns = call.common.manager_ns;
  const auto added =
      leases ? inspect::add_page(objects, "leases", *leases) : Result<inspect::PageEnd>(fail(leases.error()));
  if (!added)
    objects.managers.why_hidden = added.error().http_status() == 403 ? "you may not read it" : added.error().message();
  return objects;
}

// A row for each manager that leads; one that says why none is known.
void add_managers(inspect::Table& table, const inspect::Objects& objects) {
  const std::string name(protocol::kManagerName);
  bool any = false;
  for (const auto& [key, lease] : objects.managers.leases) {
    if (protocol::leadership_of(*lease, objects.taken) != protocol::Leadership::kLeads) continue;
    any = true;
    const protocol::ManagerNotes notes = protocol::notes_of(lease->metadata.annotations);
    table.rows.push_back({"lease/" + lease->metadata.name,
                          {name, notes.version.empty() ? "-" : notes.version,
                           lease->holder_identity + " leads" + (notes.mode.empty() ? "" : " in mode " + notes.mode) +
                               " (Lease " + key + ")"}});
  }
  if (!any) table.rows.push_back({"", {name, "-", inspect::manager_sight(objects).text}});
}

Result<inspect::Answer> run_version(Call& call) {
  if (!call.words.empty())
    return fail(Code::kInvalidArgument, "version takes nothing; " + quote(call.words[0]) + " is not expected");
  inspect::Answer answer{"DRAVersion"};
  inspect::Table table{
      "", "versions", {{"COMPONENT", "component"}, {"VERSION", "version"}, {"DETAILS", "details"}}, {}};
  table.rows.push_back({"", {"kubectl-dra", DRA_VERSION, "-"}});
  if (!call.switches["client"]) {
    const auto objects = read_versions(call);
    if (objects) {
      table.rows.push_back({"", {"Kubernetes", objects->server_version.empty() ? "-" : objects->server_version, "-"}});
      add_managers(table, *objects);
    } else {
      answer.notes.push_back("the server's version is not known: " + objects.error().message() +
                             "; --client asks no server");
      answer.status = status_of(objects.error());
    }
  }
  answer.tables.push_back(std::move(table));
  return answer;
}

const RegisterVerb kVersionVerb({"version",
                                 "the version of this program, of the server, and of the manager that leads there",
                                 "  kubectl dra version\n"
                                 "  kubectl dra version --client -o json   without a server\n",
                                 "version",
                                 {{"--client", "of this program alone; asks no server", false, {}}},
                                 0,
                                 1,
                                 {},
                                 &run_version});

}  // namespace
}  // namespace dra::kubectl
