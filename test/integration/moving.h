// Moving: the fixture of tests in which pods move so that another one fits (--defragment=on). Eight pods of eight
// controllers fill two nodes of four devices, with a taint that they tolerate; then one of each node goes. "wide" wants
// two devices of one node: it fits if one pod moves.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/protocol/promise.h"
#include "test/integration/preempting.h"

namespace dra::integration {

// A pod of ours whose controller has its name, up to a dash: "p3" and "p3-next" are of one.
inline Json pod_that_may_move(const std::string& name, const char* from = "one-gpu") {
  PodOptions options;
  options.gated = false;
  options.scheduler = kOurScheduler;
  options.run_seconds = 100'000;
  Json made = pod(name, {from_template("gpu", from)}, options);
  const std::string owner = name.substr(0, name.find('-'));
  made["metadata"]["ownerReferences"] = {{{"apiVersion", "example.com/v1"},
                                          {"kind", "Trainer"},
                                          {"name", owner + "-rs"},
                                          {"uid", "uid-rs-" + owner},
                                          {"controller", true}}};
  made["spec"]["terminationGracePeriodSeconds"] = 1;
  made["spec"]["tolerations"] = {{{"operator", "Exists"}, {"effect", "NoSchedule"}}};
  return made;
}

inline void switch_moves_on(manager::ManagerOptions& options) {
  options.settings.scheduling = reconcile::Scheduling::kBind;
  options.settings.scheduler_names = {kOurScheduler};
  options.settings.flags["defragment"] = "on";
  options.settings.move_after = std::chrono::seconds(5);
}

class Moving : public World {
 protected:
  using Names = std::vector<std::string>;

  void begin_moving(const std::function<void(manager::ManagerOptions&)>& change = {}, bool tainted = true) {
    begin(Claims::kOwn, /*manager=*/false);
    create_priorities(api());
    api().create(claim_template("two-gpu", "gpu", 2));
    if (tainted)
      for (size_t node = 0; node < nodes_; ++node)
        api().merge(Api::path("Node", "n" + std::to_string(node)),
                    {{"spec", {{"taints", {{{"key", "example.com/accelerators"}, {"effect", "NoSchedule"}}}}}}});
    start_manager([&](manager::ManagerOptions& options) {
      switch_moves_on(options);
      if (change) change(options);
    });
  }
  void create(const std::string& name, const char* from = "one-gpu") { api().create(pod_that_may_move(name, from)); }
  void halve() {
    for (int i = 0; i < 8; ++i) create("p" + std::to_string(i));
    ASSERT_TRUE(soon([&] { return on("n0").size() == 4 && on("n1").size() == 4; }));
    for (const char* node : {"n0", "n1"}) api().remove_now(Api::path("Pod", on(node).front()));
    ASSERT_TRUE(soon([&] { return on("n0").size() == 3 && on("n1").size() == 3; }));
    pass(std::chrono::seconds(6));  // longer than --move-after
  }
  // Three nodes with four devices: two pods on one, and three on each of the others. "whole" wants four devices of one
  // node: both of the two must move, each to another node.
  void two_must_move(const std::function<void(const std::string&)>& create_one) {
    api().create(claim_template("four-gpu", "gpu", 4));
    const auto pod_of = [](int node, int i) { return "p" + std::to_string(4 * node - 4 + i); };
    for (const int node : {1, 2})
      for (int i = 0; i < 4; ++i) {
        Json made = pod_that_may_move(pod_of(node, i));
        made["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n" + std::to_string(node)}};
        made["metadata"]["annotations"] = {{"dra-controller-manager/do-not-move", "true"}};
        api().create(made);
      }
    ASSERT_TRUE(soon([&] { return on("n1").size() == 4 && on("n2").size() == 4; }));
    for (const char* name : {"m0", "m1"}) create_one(name);
    ASSERT_TRUE(soon([&] { return bound("m0") && bound("m1"); }));
    for (const int node : {1, 2}) api().remove_now(Api::path("Pod", pod_of(node, 3)));
    pass(std::chrono::seconds(6));
  }
  // The server allows so many evictions.
  void allow_evictions(size_t number) {
    auto left = std::make_shared<size_t>(number);
    manager().network().set_plan([left](const client::Request& request, bool) {
      client::Fault fault;
      if (request.method != "POST" || request.target.find("/eviction") == std::string::npos) return fault;
      if (*left > 0) {
        --*left;
        return fault;
      }
      fault.kind = client::Fault::Kind::kAnswer;
      fault.answer = refused_by_webhook();
      return fault;
    });
  }
  // Of p0 to p7, those that run on the node.
  Names on(const std::string& node) {
    Names names;
    for (int i = 0; i < 8; ++i) {
      const auto known = get_pod("p" + std::to_string(i));
      if (known && known->node_name == node && known->phase == "Running") names.push_back(known->metadata.name);
    }
    return names;
  }
  // Who was evicted, by the events.
  Names all_moved() {
    Names names;
    for (const Json& event : api().list("Event"))
      if (event.value("reason", "") == "Moved") names.push_back(event["regarding"].value("name", ""));
    return names;
  }
  std::string moved() {
    const Names names = all_moved();
    return names.empty() ? "" : names.front();
  }
  bool gone(const std::string& name) {
    const auto known = get_pod(name);
    return !known || known->metadata.deleting();
  }
  std::optional<protocol::Promise> plan_of(const std::string& name) {
    const auto known = get_pod(name);
    const auto read = known ? protocol::promise_of(*known) : std::nullopt;
    if (!read || !*read) return std::nullopt;
    return **read;
  }
  std::string note(const std::string& reason) {
    for (const Json& event : api().list("Event"))
      if (event.value("reason", "") == reason) return event.value("note", event.value("message", ""));
    return "";
  }
  // The server refuses evictions.
  void block_evictions() { allow_evictions(0); }
  void unblock() { manager().network().set_plan(nullptr); }
};

}  // namespace dra::integration
