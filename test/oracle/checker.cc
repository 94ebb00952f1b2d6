#include "test/oracle/checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace dra::oracle {
namespace {

using Entry = api::DeviceRequestAllocationResult;

class Checker {
 public:
  Checker(const World& world, const api::Node& node, const SelectorJudge& judge)
      : world_(world), scene_(build_scene(world, node, judge)) {
    for (size_t i = 0; i < scene_.devices.size(); ++i) devices_[scene_.devices[i].name] = i;
  }

  std::string run(const std::vector<api::AllocationResult>& results) {
    if (!scene_.error.empty()) return "there must be no result: " + scene_.error;
    for (size_t c = 0; c < results.size(); ++c) {
      const std::string& name = world_.claims[c].metadata.name;
      std::string broken = claim(c, results[c]);
      if (broken.empty()) broken = check_config(c, results[c]);
      if (broken.empty()) broken = check_node_selector(results[c]);
      if (broken.empty()) broken = check_records(c, results[c]);
      if (!broken.empty()) return "claim " + name + ": " + broken;
    }
    return conflict(scene_, picks_);
  }

 private:
  // Every entry belongs to an option; exactly one option serves each request.
  std::string claim(size_t c, const api::AllocationResult& result) {
    std::set<std::string> served;
    for (const SceneRequest& request : scene_.requests) {
      if (request.claim != c) continue;
      int chosen = 0;
      for (const SceneOption& option : request.options) {
        std::vector<const Entry*> entries;
        for (const Entry& entry : result.results)
          if (entry.request == option.result_name) entries.push_back(&entry);
        if (entries.empty()) continue;
        ++chosen;
        served.insert(option.result_name);
        if (std::string broken = check_option(option, entries); !broken.empty())
          return "request " + option.result_name + ": " + broken;
      }
      if (chosen != 1)
        return "request " + world_.claims[c].spec.requests[request.request].name + ": served by " +
               std::to_string(chosen) + " alternatives";
    }
    for (const Entry& entry : result.results)
      if (!served.count(entry.request)) return "result for unknown request " + entry.request;
    return "";
  }

  std::string check_option(const SceneOption& option, const std::vector<const Entry*>& entries) {
    if (option.impossible) return "asks for all devices while a pool is incomplete or invalid";
    const size_t wanted = option.all ? option.candidates.size() : static_cast<size_t>(option.count);
    if (entries.size() != wanted)
      return "has " + std::to_string(entries.size()) + " devices instead of " + std::to_string(wanted);
    for (const Entry* entry : entries) {
      const DeviceName name{entry->driver, entry->pool, entry->device};
      auto found = devices_.find(name);
      if (found == devices_.end()) return name.text() + " does not exist for this node";
      auto candidate = std::find(option.candidates.begin(), option.candidates.end(), found->second);
      if (candidate == option.candidates.end()) return name.text() + " does not match";
      if (!option.tolerated[static_cast<size_t>(candidate - option.candidates.begin())])
        return name.text() + " has a taint that is not tolerated";
      if (std::string broken = check_fields(option, scene_.devices[found->second], *entry); !broken.empty())
        return name.text() + ": " + broken;
      picks_.push_back({&option, found->second});
    }
    return "";
  }

  std::string check_fields(const SceneOption& option, const SceneDevice& device, const Entry& entry) {
    if (entry.admin_access != option.spec->admin_access) return "adminAccess differs from the request";
    if (entry.tolerations != option.spec->tolerations) return "tolerations differ from the request";
    if (world_.on("DRADeviceBindingConditions") &&
        (entry.binding_conditions != device.device->binding_conditions ||
         entry.binding_failure_conditions != device.device->binding_failure_conditions))
      return "binding conditions differ from the device";
    const std::vector<std::string>& skipped = device.slice->skip_node_operations;
    if (skipped.empty() ? entry.skip_node_operations.has_value()
                        : !entry.skip_node_operations || *entry.skip_node_operations != skipped)
      return "skipNodeOperations differs from the slice";
    if (device.shared != entry.share_id.has_value()) return device.shared ? "lacks a shareID" : "has a shareID";
    std::map<std::string, Amount> expected;
    if (device.shared) {
      if (std::string broken = check_share_id(device, *entry.share_id); !broken.empty()) return broken;
      expected = amounts_taken(world_, *option.spec, device).value_or(std::map<std::string, Amount>());
    }
    if (entry.consumed_capacity.size() != expected.size()) return "consumedCapacity has other entries than the device";
    for (const auto& [name, text] : entry.consumed_capacity) {
      auto amount = expected.find(name);
      if (amount == expected.end() || parse_amount(text) != amount->second) return "consumedCapacity of " + name;
    }
    return "";
  }

  std::string check_share_id(const SceneDevice& device, const std::string& share_id) {
    bool uuid = share_id.size() == 36;
    for (size_t i = 0; i < share_id.size() && uuid; ++i) {
      const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
      uuid = dash ? share_id[i] == '-' : std::string_view("0123456789abcdef").find(share_id[i]) != std::string::npos;
    }
    if (!uuid) return "shareID " + share_id + " is not a lower-case UUID";
    if (world_.allocated_shares.count({device.name, share_id}) || !share_ids_.insert(share_id).second)
      return "shareID " + share_id + " is not new";
    return "";
  }

  // Class configurations first, one entry each with the requests of that class; then those of the claim that name no
  // request or a chosen one. Every entry once.
  std::string check_config(size_t c, const api::AllocationResult& result) {
    using Line = std::tuple<std::string, std::vector<std::string>, std::string, std::string>;
    std::set<std::string> chosen;
    for (const Entry& entry : result.results) chosen.insert(entry.request);
    std::vector<Line> expected;
    std::map<std::string, std::vector<std::string>> class_requests;
    for (const SceneRequest& request : scene_.requests)
      for (const SceneOption& option : request.options)
        if (request.claim == c && chosen.count(option.result_name))
          class_requests[option.spec->device_class_name].push_back(option.result_name);
    for (const api::DeviceClass& device_class : world_.classes) {
      auto used = class_requests.find(device_class.metadata.name);
      if (used == class_requests.end()) continue;
      for (const api::OpaqueConfig& config : device_class.config)
        if (config.driver != identity::kRecordDriver)
          expected.push_back({"FromClass", used->second, config.driver, config.parameters_json});
    }
    for (const api::DeviceClaimConfig& config : world_.claims[c].spec.config) {
      const bool applies = config.requests.empty() ||
                           std::any_of(config.requests.begin(), config.requests.end(), [&](const std::string& name) {
                             return std::any_of(chosen.begin(), chosen.end(), [&](const std::string& request) {
                               return request == name || request.substr(0, request.find('/')) == name;
                             });
                           });
      if (applies)
        expected.push_back({"FromClaim", config.requests, config.opaque ? config.opaque->driver : "",
                            config.opaque ? config.opaque->parameters_json : ""});
    }
    std::vector<Line> got;
    for (const auto& config : result.config) {
      if (config.source == "FromClass" && config.opaque && config.opaque->driver == identity::kRecordDriver) continue;
      if (config.source == "FromClass" && !got.empty() && std::get<0>(got.back()) == "FromClaim")
        return "a configuration of a class stands behind one of the claim";
      got.push_back({config.source, config.requests, config.opaque ? config.opaque->driver : "",
                     config.opaque ? config.opaque->parameters_json : ""});
    }
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    if (got == expected) return "";
    return "has " + std::to_string(got.size()) + " configurations, expected " + std::to_string(expected.size()) +
           " (or others)";
  }

  // Exactly what the claim's devices are, whether it shares them, in entries of a size that a server takes.
  std::string check_records(size_t c, const api::AllocationResult& result) {
    identity::Records expected, got;
    for (const Pick& pick : picks_) {
      if (pick.option->claim != c || pick.option->spec->admin_access) continue;
      const SceneDevice& device = scene_.devices[pick.device];
      const bool own = device.slice->per_device_node_selection;
      auto record = scene_.silicon->record(device.name, own ? device.device->node_name : device.slice->node_name);
      if (!record) continue;
      record->shared = pick.option->exempt;
      const auto [at, fresh] = expected.try_emplace(device.name.text(), *record);
      if (!fresh) at->second.shared = at->second.shared && pick.option->exempt;
    }
    for (const auto& config : result.config) {
      if (config.source != "FromClass" || !config.opaque || config.opaque->driver != identity::kRecordDriver) continue;
      if (config.opaque->parameters_json.size() > identity::kMaxRecordBytes) return "a record is too long";
      if (!identity::decode_records(config.opaque->parameters_json, got)) return "a record cannot be read";
    }
    return got == expected ? "" : "what it records of its devices' identities is not what they publish";
  }

  std::string check_node_selector(const api::AllocationResult& result) {
    bool local = false;
    api::NodeSelectorTerm merged;
    auto merge = [](std::vector<api::NodeSelectorRequirement>& into,
                    const std::vector<api::NodeSelectorRequirement>& from) {
      for (const api::NodeSelectorRequirement& requirement : from)
        if (std::find(into.begin(), into.end(), requirement) == into.end()) into.push_back(requirement);
    };
    for (const Entry& entry : result.results) {
      const SceneDevice& device = scene_.devices[devices_.at({entry.driver, entry.pool, entry.device})];
      const bool own = device.slice->per_device_node_selection;
      const std::string& node_name = own ? device.device->node_name : device.slice->node_name;
      const auto& selector = own ? device.device->node_selector : device.slice->node_selector;
      local = local || !node_name.empty() || (device.device->binds_to_node && world_.on("DRADeviceBindingConditions"));
      if (!selector || selector->terms.empty()) continue;
      // Of several terms, the first that matches the node.
      const auto term = std::find_if(
          selector->terms.begin(), selector->terms.end(),
          [&](const api::NodeSelectorTerm& t) { return node_matches(api::NodeSelector{{t}}, *scene_.node); });
      if (term == selector->terms.end()) return device.name.text() + " cannot be used on the node";
      merge(merged.match_expressions, term->match_expressions);
      merge(merged.match_fields, term->match_fields);
    }
    std::optional<api::NodeSelector> expected;
    if (local) {
      expected = api::NodeSelector{{{{}, {{"metadata.name", "In", {scene_.node->metadata.name}}}}}};
    } else if (!merged.match_expressions.empty() || !merged.match_fields.empty()) {
      expected = api::NodeSelector{{merged}};
    }
    return same(result.node_selector, expected) ? "" : "nodeSelector is not what its devices need";
  }

  // Equal except for the order of requirements.
  static bool same(std::optional<api::NodeSelector> a, std::optional<api::NodeSelector> b) {
    auto before = [](const api::NodeSelectorRequirement& x, const api::NodeSelectorRequirement& y) {
      return std::tie(x.key, x.op, x.values) < std::tie(y.key, y.op, y.values);
    };
    for (auto* selector : {&a, &b})
      if (*selector)
        for (api::NodeSelectorTerm& term : (*selector)->terms) {
          std::sort(term.match_expressions.begin(), term.match_expressions.end(), before);
          std::sort(term.match_fields.begin(), term.match_fields.end(), before);
        }
    return a == b;
  }

  const World& world_;
  const Scene scene_;
  std::map<DeviceName, size_t> devices_;
  std::vector<Pick> picks_;
  std::set<std::string> share_ids_;
};

}  // namespace

std::string broken_rule(const World& world, const std::string& node, const std::vector<api::AllocationResult>& results,
                        const SelectorJudge& judge) {
  if (results.size() != world.claims.size())
    return std::to_string(results.size()) + " results for " + std::to_string(world.claims.size()) + " claims";
  for (const api::Node& candidate : world.nodes)
    if (candidate.metadata.name == node) return Checker(world, candidate, judge).run(results);
  return "there is no node " + node;
}

}  // namespace dra::oracle
