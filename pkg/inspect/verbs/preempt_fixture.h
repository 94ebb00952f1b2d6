// Two nodes with two GPUs each (two_nodes_fixture.h), and pods of several priorities on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect {

struct Priorities : TwoNodes {
  Priorities() {
    objects.evictions.asked = true;
    objects.pods.clear();
    objects.claims.clear();
    objects.claim_by_uid.clear();
    auto ns = named_object<api::Namespace>("", "ml");
    ns->metadata.labels["dra-controller-manager/preemption"] = "true";
    objects.namespaces["ml"] = ns;
    auto from = named_object<api::ResourceClaimTemplate>("ml", "one");
    from->spec = spec(1);
    objects.templates["ml/one"] = from;
  }

  // A pod of a ReplicaSet named after it, with a claim for as many GPUs as `devices`, or (waiting) for `wants`.
  void add(const std::string& name, int32_t priority, const std::string& node, const std::vector<std::string>& devices,
           int64_t wants = 0) {
    add_pod(name, node, devices);
    change(name, [&](api::Pod& pod) {
      pod.priority = priority;
      pod.metadata.labels["app"] = name;
      pod.metadata.owner_references = {{"apps/v1", "ReplicaSet", name + "-rs", "uid-rs-" + name, true}};
    });
    auto claim = std::make_shared<api::ResourceClaim>(*objects.claims.at("ml/" + name + "-g"));
    claim->spec = spec(devices.empty() ? wants : static_cast<int64_t>(devices.size()));
    objects.claim_by_uid[claim->metadata.uid] = claim;
    objects.claims[claim->metadata.key()] = std::move(claim);
  }

  template <class F>
  void change(const std::string& name, F&& f) {
    auto pod = std::make_shared<api::Pod>(*objects.pods.at("ml/" + name));
    f(*pod);
    objects.pods[pod->metadata.key()] = std::move(pod);
  }

  void add_budget(const std::string& name, const std::string& app, int64_t allowed) {
    auto budget = named_object<api::PodDisruptionBudget>("ml", name);
    budget->selector.emplace().match_labels["app"] = app;
    budget->disruptions_allowed = allowed;
    objects.evictions.budgets["ml/" + name] = std::move(budget);
  }

  void never_preempts(const std::string& name) {
    auto facts = named_object<api::PodEvictionFacts>("ml", name);
    facts->preemption_policy = "Never";
    objects.evictions.pods["ml/" + name] = std::move(facts);
  }
};

// The codes of an answer's statements, in order.
inline std::string codes_of(const Answer& answer) {
  std::string text;
  for (const Statement& one : answer.statements) text += (text.empty() ? "" : " ") + one.code;
  return text;
}

// The first cells of a table's rows: "ml/a>b".
inline std::string rows_of(const Answer& answer, size_t table, std::vector<size_t> cells) {
  std::string text;
  for (const Row& row : answer.tables.at(table).rows) {
    text += text.empty() ? "" : ", ";
    for (size_t i = 0; i < cells.size(); ++i) {
      const Cell& cell = row.cells.at(cells[i]);
      text += (i == 0 ? "" : ">");
      if (!cell.is_list) text += cell.text;
      for (const std::string& item : cell.items) text += item + ";";
    }
  }
  return text;
}

}  // namespace dra::inspect
