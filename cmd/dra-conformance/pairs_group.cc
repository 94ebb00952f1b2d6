// dra-conformance pairs: lines with a group.
#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cmd/dra-conformance/pairs_lines.h"
#include "pkg/alignment/group_rails.h"
#include "pkg/api/decode/decode.h"
#include "pkg/api/encode.h"
#include "pkg/gang/gang.h"
#include "pkg/inventory/device_values.h"
#include "test/allocharness/contest.h"
#include "test/oracle/amount.h"
#include "test/oracle/checker.h"
#include "test/oracle/objective.h"
#include "test/oracle/pairs.h"
#include "test/oracle/rails.h"

namespace dra::conformance {
namespace {

using nlohmann::json;
using Time = std::chrono::steady_clock;

struct CaseMember {
  std::string name;
  api::StringMap annotations;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<alignment::ClaimName> names;
  std::string node;  // of one that runs already
  std::string shape;
};

struct GroupCase {
  oracle::World world;                      // without claims
  std::optional<api::StringMap> pod_group;  // its annotations
  std::vector<CaseMember> members;
  json expect;
};

CaseMember read_member(const json& source) {
  CaseMember out;
  out.node = source.value("node", "");
  for (const json& one : source.at("claims")) {
    Result<api::ResourceClaim> claim = api::decode<api::ResourceClaim>(one.dump());
    if (!claim) throw std::runtime_error("claim: " + claim.error().message());
    out.claims.push_back(std::make_shared<const api::ResourceClaim>(std::move(*claim)));
    out.shape += one.at("spec").dump() + json(out.claims.back()->metadata.annotations).dump();
  }
  Result<api::Pod> pod = api::decode<api::Pod>(source.at("pod").dump());
  if (!pod) throw std::runtime_error("pod: " + pod.error().message());
  out.name = pod->metadata.name;
  out.annotations = pod->metadata.annotations;
  out.shape += json(out.annotations).dump();
  for (const api::PodResourceClaim& claim : pod->resource_claims) {
    const auto found = std::find_if(out.claims.begin(), out.claims.end(), [&](const auto& one) {
      return claim.resource_claim_name && one->metadata.name == *claim.resource_claim_name;
    });
    if (found == out.claims.end()) continue;
    out.names.push_back({claim.name, static_cast<uint32_t>(found - out.claims.begin())});
    out.shape += claim.name + ' ' + std::to_string(out.names.back().claim) + ';';
  }
  return out;
}

GroupCase read_group_case(const std::string& text) {
  const json source = json::parse(text);
  Result<oracle::Case> read = oracle::read_case(text);
  if (!read) throw std::runtime_error(read.error().message());
  GroupCase out;
  out.world = std::move(read->world);
  out.expect = source.value("expect", json::object());
  for (const json& member : source.at("members")) out.members.push_back(read_member(member));
  if (source.contains("podGroup"))
    out.pod_group = source["podGroup"].at("metadata").value("annotations", api::StringMap());
  return out;
}

// Any node takes any member: their pods need no CPU here.
class AllNodes : public gang::Nodes {
 public:
  explicit AllNodes(const std::vector<inventory::NodeId>& nodes) : nodes_(nodes) {}
  Influence influence() const override { return Influence::kNode; }
  uint64_t version() const override { return 1; }
  std::vector<gang::Candidate> candidates(size_t) override {
    std::vector<gang::Candidate> out;
    for (const inventory::NodeId node : nodes_) out.push_back({node, {}});
    return out;
  }
  std::optional<gang::NodeFacts> look(size_t, inventory::NodeId) override { return gang::NodeFacts{}; }
  bool still_takes(size_t, inventory::NodeId, uint64_t) const override { return true; }
  void place(size_t, inventory::NodeId) override {}
  void take_back(size_t) override {}
  const std::string* label(inventory::NodeId, const std::string&) const override { return nullptr; }

 private:
  const std::vector<inventory::NodeId>& nodes_;
};

class GroupRun {
 public:
  GroupRun(const GroupCase& one, const PairsFlags& flags) : case_(one), flags_(flags) {}

  PairsAnswer run() {
    line_ = {{"id", case_.world.id}, {"members", nullptr}, {"met", json::object()}, {"nanos", 0}, {"coldNanos", 0}};
    for (const CaseMember& member : case_.members) {
      alignment::RailMember& one = members_.emplace_back();
      one.annotations = &member.annotations;
      for (const auto& claim : member.claims) one.claims.push_back(claim.get());
      one.names = member.names;
    }
    rails_ = alignment::read_group_rails(case_.pod_group ? &*case_.pod_group : nullptr, members_);
    if (!rails_.ignored.empty()) line_["ignored"] = alignment::kind_name(rails_.ignored.front().second.kind);
    if (rails_.refusal)
      line_["refused"] = alignment::kind_name(rails_.refusal->kind);
    else
      decide();
    PairsAnswer out;
    out.id = case_.world.id;
    if (flags_.out.empty()) out.why = judge();
    out.line = line_.dump(-1, ' ', false, json::error_handler_t::replace);
    return out;
  }

 private:
  void make_request(allocharness::Contest& contest) {
    request_.uid = request_.name = "default/group";
    std::vector<uint32_t> number(case_.members.size(), UINT32_MAX);
    for (uint32_t m = 0; m < case_.members.size(); ++m) {
      const CaseMember& one = case_.members[m];
      if (!one.node.empty()) continue;
      number[m] = static_cast<uint32_t>(request_.members.size());
      waiting_.push_back(m);
      gang::Member& member = request_.members.emplace_back();
      member.name = "default/" + one.name;
      member.uid = "uid-of-" + one.name;
      member.claims = one.claims;
      member.shape = one.shape;
      member.pairs = alignment::read_pod_pairs(one.annotations, members_[m].claims, one.names).entries;
    }
    request_.min_count = static_cast<uint32_t>(request_.members.size());
    for (const alignment::RailRule& rule : rails_.rules) {
      gang::RailRule& made = request_.rails.emplace_back();
      made.attribute = rule.attribute;
      made.soft = rule.soft;
      made.of.resize(request_.members.size());
      for (uint32_t m = 0; m < case_.members.size(); ++m) {
        if (rule.of[m].empty()) continue;
        alignment::MemberRails taken;
        for (const alignment::RailRequest& request : rule.of[m])
          add_allocated(contest, *case_.members[m].claims[request.claim], request.request, rule.attribute, taken);
        if (number[m] == UINT32_MAX) {
          made.running.emplace_back("default/" + case_.members[m].name, std::move(taken));
          continue;
        }
        made.of[number[m]].taken = std::move(taken);
        for (const alignment::RailRequest& request : rule.of[m])
          made.of[number[m]].requests.emplace_back(request.claim, request.request);
      }
    }
  }

  static void add_allocated(allocharness::Contest& contest, const api::ResourceClaim& claim, const std::string& request,
                            const std::string& attribute, alignment::MemberRails& out) {
    if (!claim.status.allocation) return;
    for (const api::DeviceRequestAllocationResult& one : claim.status.allocation->results)
      if (one.request.substr(0, one.request.find('/')) == request)
        out.push_back(
            inventory::device_values(contest.inventory().device_index(), *claim.status.allocation, one, attribute)
                .value_or(alignment::DeviceRails()));
  }

  void decide() {
    allocator::Options options;
    options.strategy = flags_.strategy;
    auto made = allocharness::Contest::make(case_.world, options);
    if (!made) throw std::runtime_error(made.error().message());
    allocharness::Contest& contest = **made;
    make_request(contest);
    AllNodes nodes(contest.nodes());
    Time::time_point start = Time::now();
    decision_ = attempt(contest, nodes);
    line_["coldNanos"] = line_["nanos"] = nanos_since(start);
    line_["steps"] = decision_.steps;
    std::vector<int64_t> times;
    for (int i = 0; i < flags_.repeat; ++i) {
      contest.disturb(decision_.members.empty() ? inventory::kNone : decision_.members[0].node);
      start = Time::now();
      stable_ = attempt(contest, nodes).outcome == decision_.outcome && stable_;
      times.push_back(nanos_since(start));
    }
    if (!times.empty()) {
      std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
      line_["nanos"] = times[times.size() / 2];
    }
    write(contest);
  }

  gang::Decision attempt(allocharness::Contest& contest, gang::Nodes& nodes) const {
    gang::Gangs gangs(contest.inventory(), contest.allocator(), {});
    gang::Decision decision;
    do decision = gangs.decide(request_, nodes, {});
    while (decision.outcome == allocator::Outcome::kUnfinished);
    return decision;
  }

  void write(allocharness::Contest& contest) {
    if (decision_.outcome == allocator::Outcome::kError)
      line_["error"] = decision_.error ? decision_.error->message() : "unusable request";
    if (decision_.outcome == allocator::Outcome::kBudgetSpent)
      line_["error"] = "the step budget was spent before the group was decided: " + decision_.reason;
    if (decision_.outcome == allocator::Outcome::kInfeasible) line_["reason"] = decision_.reason;
    if (decision_.outcome != allocator::Outcome::kFeasible) return;
    results_.resize(case_.members.size());
    nodes_.resize(case_.members.size());
    line_["members"] = json::array();
    for (uint32_t m = 0; m < case_.members.size(); ++m) line_["members"].push_back(nullptr);
    for (const gang::Placed& placed : decision_.members) {
      const uint32_t m = waiting_[placed.member];
      nodes_[m] = contest.inventory().node_name(placed.node);
      json one = {{"node", nodes_[m]}, {"results", json::array()}};
      for (const auto& claim : case_.members[m].claims) {
        const auto found = std::find_if(decision_.claims.begin(), decision_.claims.end(),
                                        [&](const gang::ClaimResult& result) { return result.claim == claim; });
        if (found != decision_.claims.end()) results_[m].push_back(found->result);
        one["results"].push_back(found == decision_.claims.end() ? json() : json::parse(api::encode(found->result)));
      }
      line_["members"][m] = std::move(one);
    }
    for (size_t r = 0; r < request_.rails.size(); ++r)
      if (request_.rails[r].soft) line_["met"][request_.rails[r].attribute] = bool{decision_.rails_met[r]};
  }

  static int64_t nanos_since(Time::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Time::now() - start).count();
  }

  // ---- judging: of the decision only the results are used

  std::string judge() const {
    if (line_.contains("error")) return line_["error"];
    if (!stable_) return "a repeated decision had another outcome";
    for (const char* kind : {"refused", "ignored"})
      if (line_.value(kind, json()) != case_.expect.value(kind, json()))
        return std::string("expected ") + kind + " " + case_.expect.value(kind, json()).dump() + ", got " +
               line_.value(kind, json()).dump();
    const bool feasible = !line_["members"].is_null();
    if (case_.expect.contains("feasible") && case_.expect["feasible"] != feasible)
      return feasible ? "expected infeasible" : "expected feasible, but " + line_.value("reason", std::string());
    if (!feasible) return "";
    if (case_.expect.contains("met") && line_["met"] != case_.expect["met"])
      return "expected met " + case_.expect["met"].dump() + ", got " + line_["met"].dump();
    if (std::string why = broken_results(); !why.empty()) return why;
    return broken_rails();
  }

  // Member by member: each with the devices of those before it held.
  std::string broken_results() const {
    oracle::World world = case_.world;
    for (const uint32_t m : waiting_) {
      const CaseMember& member = case_.members[m];
      if (nodes_[m].empty()) return "member " + member.name + " is not placed";
      world.claims.clear();
      for (const auto& claim : member.claims)
        if (!claim->status.allocation) world.claims.push_back(*claim);
      if (results_[m].size() != world.claims.size()) return "member " + member.name + " lacks results";
      if (std::string rule = oracle::broken_rule(world, nodes_[m], results_[m]); !rule.empty())
        return "the result of " + member.name + " is not valid: " + rule;
      for (const api::Node& node : world.nodes) {
        if (node.metadata.name != nodes_[m]) continue;
        const oracle::Scene scene = oracle::build_scene(world, node);
        const std::vector<allocator::PairRule> rules = allocator::pair_rules(
            request_.members[static_cast<size_t>(std::find(waiting_.begin(), waiting_.end(), m) - waiting_.begin())]
                .pairs,
            member.claims);
        if (std::string why = oracle::broken_pairs(scene, oracle::picks_of(scene, results_[m]), rules); !why.empty())
          return "member " + member.name + ": " + why;
      }
      hold(results_[m], world);
    }
    return "";
  }

  static std::string nanos_text(oracle::Amount amount) {
    std::string digits;
    for (; amount > 0; amount /= 10)
      digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(amount % 10)));
    return (digits.empty() ? "0" : digits) + "n";
  }

  static void hold(const std::vector<api::AllocationResult>& results, oracle::World& world) {
    for (const api::AllocationResult& result : results)
      for (const api::DeviceRequestAllocationResult& one : result.results) {
        if (one.admin_access) continue;
        const oracle::DeviceName name{one.driver, one.pool, one.device};
        if (!one.share_id) {
          world.allocated.insert(name);
          continue;
        }
        world.allocated_shares.insert({name, *one.share_id});
        for (const auto& [capacity, amount] : one.consumed_capacity) {
          std::string& sum = world.consumed[name][capacity];
          const auto added = oracle::parse_amount(amount), before = oracle::parse_amount(sum.empty() ? "0" : sum);
          sum = nanos_text(*before + *added);
        }
      }
  }

  // From the texts of the annotations, which are valid: entries and terms are split without the reader under test.
  struct Bound {
    std::string attribute;
    std::vector<std::pair<std::string, std::string>> terms;  // claim, request
  };
  static std::vector<std::string> split(std::string text, const std::string& at) {
    std::vector<std::string> parts;
    for (size_t found = 0; (found = text.find(at)) != std::string::npos; text.erase(0, found + at.size()))
      parts.push_back(text.substr(0, found));
    parts.push_back(text);
    for (std::string& part : parts) {
      part.erase(0, part.find_first_not_of(' '));
      part.erase(part.find_last_not_of(' ') + 1);
    }
    return parts;
  }
  static std::vector<Bound> bounds_of(const api::StringMap& annotations, bool soft) {
    const auto text =
        annotations.find(std::string("dra-controller-manager/same-across-members") + (soft ? "-preferred" : ""));
    std::vector<Bound> out;
    if (text == annotations.end()) return out;
    for (const std::string& entry : split(text->second, ",")) {
      const std::vector<std::string> sides = split(entry, " by ");
      if (sides.size() != 2) return {};
      Bound& bound = out.emplace_back();
      bound.attribute = sides[1];
      for (const std::string& term : split(sides[0], "+")) {
        const std::vector<std::string> names = split(term, "/");
        if (names.size() != 2) return {};
        bound.terms.emplace_back(names[0], names[1]);
      }
    }
    return out;
  }

  oracle::RailDevices devices_of(uint32_t m, const Bound& bound, bool& has) const {
    oracle::RailDevices out;
    const CaseMember& member = case_.members[m];
    for (const auto& [claim, request] : bound.terms)
      for (const alignment::ClaimName& name : member.names) {
        if (name.name != claim) continue;
        const api::ResourceClaim& object = *member.claims[name.claim];
        for (const api::DeviceRequest& one : object.spec.requests) has = has || one.name == request;
        const api::AllocationResult* result = object.status.allocation ? &*object.status.allocation : nullptr;
        size_t open = 0;
        for (uint32_t c = 0; c < name.claim; ++c) open += !member.claims[c]->status.allocation;
        if (result == nullptr) result = &results_[m][open];
        for (const api::DeviceRequestAllocationResult& device : result->results)
          if (device.request.substr(0, device.request.find('/')) == request)
            out.push_back(oracle::rail_values(case_.world, device.driver, device.pool, device.device, bound.attribute));
      }
    return out;
  }

  std::string broken_rails() const {
    const std::string ignored = line_.value("ignored", std::string());
    for (const bool soft : {false, true}) {
      std::map<std::string, std::vector<oracle::RailDevices>> rules;
      for (uint32_t m = 0; m < case_.members.size(); ++m) {
        std::map<std::string, Bound> of;  // a pod's own entry replaces the PodGroup's
        if (case_.pod_group)
          for (Bound& bound : bounds_of(*case_.pod_group, soft)) of[bound.attribute] = std::move(bound);
        for (Bound& bound : bounds_of(case_.members[m].annotations, soft)) of[bound.attribute] = std::move(bound);
        for (const auto& [attribute, bound] : of) {
          bool has = false;
          oracle::RailDevices devices = devices_of(m, bound, has);
          if (has) rules[attribute].push_back(std::move(devices));
        }
      }
      for (const auto& [attribute, members] : rules) {
        const bool must = !soft || (ignored.empty() && line_["met"].value(attribute, false));
        if (must && !oracle::same_rails(members)) return "the members are not on the same rails of " + attribute;
      }
    }
    return "";
  }

  const GroupCase& case_;
  const PairsFlags& flags_;
  std::vector<alignment::RailMember> members_;
  alignment::GroupRails rails_;
  gang::GangRequest request_;
  std::vector<uint32_t> waiting_;  // numbers of members that do not run
  gang::Decision decision_;
  std::vector<std::string> nodes_;                           // by member
  std::vector<std::vector<api::AllocationResult>> results_;  // by member
  bool stable_ = true;
  json line_;
};

}  // namespace

PairsAnswer run_group_line(const std::string& text, const PairsFlags& flags) {
  const GroupCase one = read_group_case(text);
  return GroupRun(one, flags).run();
}

}  // namespace dra::conformance
