// Preempting: the fixture of tests with pods of three priorities on few devices, and --preemption=on.
#pragma once

#include <nlohmann/json.hpp>

#include "test/integration/faults.h"
#include "test/integration/world.h"

namespace dra::integration {

// Priority classes low, mid, high, and never (as high, with preemptionPolicy Never).
inline void create_priorities(Api& api) {
  const std::pair<const char*, int> all[] = {{"low", 10}, {"mid", 20}, {"high", 100}, {"never", 100}};
  for (const auto& [name, value] : all) {
    Json made{{"apiVersion", "scheduling.k8s.io/v1"},
              {"kind", "PriorityClass"},
              {"metadata", {{"name", name}}},
              {"value", value}};
    if (std::string(name) == "never") made["preemptionPolicy"] = "Never";
    // On a real control plane of an earlier test.
    if (!api.exists(Api::path("PriorityClass", name))) api.create(made);
  }
}

// A pod of ours. Its name begins with that of its priority class.
inline Json pod_of_rank(const std::string& name, const std::vector<Entry>& entries) {
  PodOptions options;
  options.gated = false;
  options.scheduler = kOurScheduler;
  options.run_seconds = 100'000;
  Json made = pod(name, entries, options);
  made["spec"]["priorityClassName"] = name.substr(0, name.find_first_of("0123456789"));
  made["spec"]["terminationGracePeriodSeconds"] = 1;
  made["spec"]["tolerations"] = {{{"operator", "Exists"}, {"effect", "NoSchedule"}}};
  return made;
}

inline void switch_on(manager::ManagerOptions& options) {
  options.settings.scheduling = reconcile::Scheduling::kBind;
  options.settings.scheduler_names = {kOurScheduler};
  options.settings.flags["preemption"] = "on";
}

// Two managers that both lead, "a" and "b", on an empty cluster. Their requests lag, by up to a second for even seeds.
inline void start_two_leaders(Cluster& cluster, SeededRandom& chance, uint64_t seed, bool prove = true,
                              const std::function<void(manager::ManagerOptions&)>& how = switch_on) {
  create_priorities(cluster.api());
  cluster.api().merge(Api::path("Namespace", "default"),
                      {{"metadata", {{"labels", {{"dra-controller-manager/preemption", "true"}}}}}});
  cluster.api().create(claim_template("one-gpu"));
  for (const char* name : {"a", "b"}) {
    ProcessOptions process;
    process.manager = Cluster::manager_options();
    how(process.manager);
    process.manager.settings.prove_promises = prove;
    Process& started = cluster.start(name, process, false);
    started.network().set_plan(lagging(chance, std::chrono::milliseconds(seed % 2 == 1 ? 200 : 1000)));
    started.start();
  }
}

class Preempting : public World {
 protected:
  using Names = std::vector<std::string>;

  void begin_preempting(size_t nodes, const std::string& label = "true") {
    nodes_ = nodes;
    begin(Claims::kOwn, /*manager=*/false);
    create_priorities(api());
    api().merge(Api::path("Namespace", "default"),
                {{"metadata", {{"labels", {{"dra-controller-manager/preemption", label}}}}}});
    start_manager(switch_on);
  }
  void create(const std::string& name) { api().create(pod_of_rank(name, {from_template("gpu", "one-gpu")})); }
  void create_cpu(const std::string& name, const std::string& cpu) {
    Json made = pod_of_rank(name, {});
    made["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", cpu}};
    api().create(made);
  }
  // One after the other, so that the last one is the youngest.
  void fill(const Names& names) {
    for (const std::string& name : names) {
      create(name);
      ASSERT_TRUE(soon([&] { return running(name); })) << name;
      pass(std::chrono::seconds(2));
    }
  }
  void fill_cpu(const Names& names) {
    for (const std::string& name : names) {
      create_cpu(name, "30");
      ASSERT_TRUE(soon([&] { return running(name); })) << name;
    }
  }
  bool running(const std::string& name) {
    const auto known = get_pod(name);
    return known && known->phase == "Running";
  }
  // Those that were deleted, or are being deleted.
  Names gone(const Names& names) {
    Names all;
    for (const std::string& name : names)
      if (const auto known = get_pod(name); !known || known->metadata.deleting()) all.push_back(name);
    return all;
  }
  std::set<std::string> reasons_of(const std::string& prefix) {
    std::set<std::string> some;
    for (const std::string& reason : reasons())
      if (reason.starts_with(prefix)) some.insert(reason);
    return some;
  }
  // The server refuses what proves a promise.
  void block_proofs() {
    manager().network().set_plan([](const client::Request& request, bool) {
      client::Fault fault;
      if (request.method != "PATCH" || request.body.find("dra-controller-manager/Promise") == std::string::npos ||
          request.body.find(R"("status":"True")") == std::string::npos)
        return fault;
      fault.kind = client::Fault::Kind::kAnswer;
      fault.answer = refused_by_webhook();
      return fault;
    });
  }
  void unblock() { manager().network().set_plan(nullptr); }
};

}  // namespace dra::integration
