// Known: what a file may refer to, of the file itself and of the cluster, if there is one. An object of the file takes
// the place of the cluster's, which it will replace.
//
// The objects that are added must outlive it. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/inspect/state/objects.h"
#include "pkg/inspect/verbs/half_taints.h"

namespace dra::inspect {

class Known {
 public:
  // `cluster`: null if there is none. `ns`: of objects of the file that name none.
  Known(const Objects* cluster, std::string ns) : cluster_(cluster), ns_(std::move(ns)) {}
  void add(const nlohmann::json& object);

  const Objects* cluster() const { return cluster_; }
  const std::string& ns() const { return ns_; }
  std::string namespace_of(const nlohmann::json& object) const;

  // Nothing: there is no such class, or it cannot be seen.
  std::optional<std::vector<std::string>> class_selectors(const std::string& name) const;
  std::vector<std::string> class_names() const;
  // Whether what is not known does not exist: there is a cluster, and it shows all objects of the kind.
  bool shows(std::string_view plural) const { return cluster_ != nullptr && !cluster_->hides(plural); }

  // The names of the requests of a claim, or of a template; nothing: it is not known.
  std::optional<std::vector<std::string>> requests_of_claim(const std::string& ns, const std::string& name) const;
  std::optional<std::vector<std::string>> requests_of_template(const std::string& ns, const std::string& name) const;

  // The claim, or the one that the template would give; null: it is not known, or cannot be read.
  std::shared_ptr<const api::ResourceClaim> claim(const std::string& ns, const std::string& name) const;
  std::shared_ptr<const api::ResourceClaim> claim_of_template(const std::string& ns, const std::string& name) const;
  // Of the file: the pods, and the pods in templates, that name this PodGroup; with the namespace of their objects.
  const std::vector<const nlohmann::json*>& members_of(const std::string& ns, const std::string& group) const;

  // Extended resources that a node's device plugin or a class offers.
  const std::set<std::string>& extended_resources() const { return resources_ ? *resources_ : collect_resources(); }
  // Of this DeviceTaintRule of the file: the devices cut from the one that it names that no rule taints.
  std::vector<HalfTaint> half_taints_of(const nlohmann::json& rule) const;
  // Whether claims of the namespace may ask for admin access; true for one that is not known.
  bool admin_access(const std::string& ns) const;

 private:
  const std::set<std::string>& collect_resources() const;
  void judge_rules() const;

  const Objects* cluster_;
  std::string ns_;
  std::map<std::string, const nlohmann::json*> classes_, claims_, templates_, namespaces_;  // of the file
  std::vector<const nlohmann::json*> rules_;                                                // of the file
  std::map<std::string, std::vector<const nlohmann::json*>> members_;  // by "ns/group", of the file
  mutable std::optional<std::set<std::string>> resources_;
  mutable std::optional<std::map<const nlohmann::json*, std::vector<HalfTaint>>> half_taints_;  // by rule of the file
};

}  // namespace dra::inspect
