#include "pkg/gang/search/table.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "pkg/base/strings.h"

namespace dra::gang {
namespace {

Error invalid(const GangRequest& request, const std::string& what) {
  return Error(Code::kInvalidArgument, "group " + quote(request.name) + ": " + what);
}

Error bad_part(const GangRequest& request, const GroupPart& part, const std::string& what) {
  return Error(Code::kInvalidArgument, "group " + quote(request.name) + ": its part " + quote(part.name) + " " + what);
}

std::optional<Error> check_parts(const GangRequest& request) {
  const std::vector<GroupPart>& parts = request.parts;
  if (parts.size() > kMaxParts)
    return Error(Code::kResourceExhausted, "group " + quote(request.name) + " consists of " +
                                               std::to_string(parts.size()) + " groups; at most " +
                                               std::to_string(kMaxParts) + " are decided together; split it");
  std::vector<uint32_t> depth(parts.size(), 1);
  std::vector<bool> has_children(parts.size(), false), seen(request.members.size(), false);
  for (size_t p = 0; p < parts.size(); ++p) {
    const GroupPart& part = parts[p];
    if (part.parent.has_value() != (p > 0) || (p > 0 && *part.parent >= p))
      return bad_part(request, part, "is not below an earlier part");
    if (p > 0) {
      depth[p] = depth[*part.parent] + 1;
      has_children[*part.parent] = true;
    }
    if (depth[p] > kMaxPartDepth)
      return bad_part(request, part,
                      "is on level " + std::to_string(depth[p]) + " of its groups; at most " +
                          std::to_string(kMaxPartDepth) + " are supported");
    if (p > 0 && part.topology.required && *part.topology.required >= part.topology.levels.size())
      return bad_part(request, part, "requires a topology level that it does not name");
    for (const uint32_t member : part.members) {
      if (member >= seen.size() || seen[member]) return bad_part(request, part, "has a member that is not its own");
      seen[member] = true;
    }
  }
  for (size_t p = 0; p < parts.size(); ++p)
    if (has_children[p] && !parts[p].members.empty())
      return bad_part(request, parts[p], "has members and groups; it can have one or the other");
  return std::nullopt;
}

std::optional<Error> check(const GangRequest& request) {
  if (request.members.size() > kMaxMembers)
    return Error(Code::kResourceExhausted, "group " + quote(request.name) + " has " +
                                               std::to_string(request.members.size()) + " members that wait; at most " +
                                               std::to_string(kMaxMembers) +
                                               " are decided together; split it into smaller groups");
  if (request.min_count > request.members.size())
    return invalid(request, "wants " + std::to_string(request.min_count) + " members at once, but only " +
                                std::to_string(request.members.size()) +
                                " wait; create the missing pods or lower the minimum");
  const Topology& topology = request.topology;
  const size_t levels = topology.levels.size();
  if (levels > kMaxTopologyLevels)
    return invalid(request, "names " + std::to_string(levels) + " topology levels; at most " +
                                std::to_string(kMaxTopologyLevels) + " are supported");
  if (std::find(topology.levels.begin(), topology.levels.end(), "") != topology.levels.end())
    return invalid(request, "a topology level is empty; name a node label key");
  for (const auto& [what, level] :
       {std::pair("required", topology.required), std::pair("preferred", topology.preferred)})
    if (level && *level >= levels)
      return invalid(request, std::string("its ") + what + " topology level is number " + std::to_string(*level) +
                                  " of " + std::to_string(levels) + "; name one of the levels");
  if (request.rails.size() > kMaxRailRules)
    return invalid(request, "has " + std::to_string(request.rails.size()) + " rules about rails; at most " +
                                std::to_string(kMaxRailRules) + " are supported");
  for (const RailRule& rule : request.rails)
    if (rule.of.size() != request.members.size())
      return invalid(request, "rule about " + quote(rule.attribute) + " is not about the members that wait");
  return request.parts.empty() ? std::nullopt : check_parts(request);
}

class Compiler {
 public:
  explicit Compiler(const GangRequest& request) : request_(request) {}

  Table run() {
    const size_t members = request_.members.size();
    table_.claims_of.resize(members);
    table_.selectors_of.resize(members);
    for (uint32_t m = 0; m < members; ++m) add_claims(m);
    for (uint32_t m = 0; m < members; ++m) add_to_kind(m);
    return std::move(table_);
  }

 private:
  void add_claims(uint32_t m) {
    for (const auto& claim : request_.members[m].claims) {
      if (claim->status.allocation) {
        table_.allocated.push_back(claim);
        if (claim->status.allocation->node_selector)
          table_.selectors_of[m].push_back(&*claim->status.allocation->node_selector);
        continue;
      }
      const auto [at, added] = number_.try_emplace(claim->metadata.uid, table_.claims.size());
      if (added) add_claim(claim);
      std::vector<uint32_t>& users = table_.claims[at->second].users;
      if (!users.empty() && users.back() == m) continue;  // named twice by one pod
      users.push_back(m);
      table_.claims_of[m].push_back(at->second);
    }
  }

  void add_claim(const std::shared_ptr<const api::ResourceClaim>& claim) {
    TableClaim& made = table_.claims.emplace_back();
    made.object = claim;
    made.trial_uid = "gang-trial/" + claim->metadata.uid;
    const auto admin = [](const api::DeviceRequest& one) { return one.exactly && one.exactly->admin_access; };
    const std::vector<api::DeviceRequest>& requests = claim->spec.requests;
    made.any_admin = std::any_of(requests.begin(), requests.end(), admin);
    made.only_admin = std::all_of(requests.begin(), requests.end(), admin);
  }

  // What members of one kind must share beside their shape: the same claims, except their own.
  void add_to_kind(uint32_t m) {
    const Member& member = request_.members[m];
    bool shares = false;
    std::string key = member.shape.empty() ? "m" + std::to_string(m) : "s" + member.shape;
    for (const auto& claim : member.claims)
      if (claim->status.allocation) key += '\n' + claim->metadata.uid;
    for (const uint32_t claim : table_.claims_of[m]) {
      if (!table_.claims[claim].shared()) continue;
      key += '\n' + table_.claims[claim].object->metadata.uid;
      shares = true;
    }
    for (const RailRule& rule : request_.rails) add_rails(key, rule.of[m]);
    for (const alignment::PairEntry& entry : member.pairs) add_pairs(key, entry);
    const auto [at, added] = kinds_.try_emplace(std::move(key), table_.kinds.size());
    if (added) table_.kinds.push_back({{}, shares});
    table_.kinds[at->second].members.push_back(m);
    table_.kind_of.push_back(at->second);
  }

  // A rule treats members of one kind alike.
  static void add_rails(std::string& key, const RailRule::Of& of) {
    key += "\nr";
    for (const auto& [claim, request] : of.requests) key += std::to_string(claim) + '/' + request + ' ';
    for (const alignment::DeviceRails& device : of.taken) {
      key += '|';
      for (const std::string& value : device) key += std::to_string(value.size()) + ':' + value;
    }
  }

  void add_pairs(std::string& key, const alignment::PairEntry& entry) {
    table_.any_pairs = true;
    key += "\np" + entry.attribute;
    for (const alignment::PairTerm& term : entry.terms)
      key += ' ' + std::to_string(term.claim) + '/' + std::to_string(term.request) + '*' + std::to_string(term.number);
  }

  const GangRequest& request_;
  Table table_;
  std::unordered_map<std::string, uint32_t> number_;  // of claims by uid
  std::unordered_map<std::string, uint32_t> kinds_;
};

}  // namespace

Error too_different(const GangRequest& request, size_t kinds, const std::string& where) {
  return Error(Code::kResourceExhausted,
               "group " + quote(request.name) + " has " + std::to_string(kinds) + " different kinds of members" +
                   where + "; at most " + std::to_string(kMaxKinds) +
                   " are decided together, fewer on very many nodes; make its pods alike (the same requests, selectors "
                   "and tolerations, claims with the same spec, no volumes of their own) or split it into smaller "
                   "groups");
}

uint32_t own_kind(Table& table, uint32_t member) {
  Kind& kind = table.kinds[table.kind_of[member]];
  if (kind.members.size() == 1) return table.kind_of[member];
  std::erase(kind.members, member);
  const bool shares = kind.shares;
  table.kinds.push_back({{member}, shares});
  return table.kind_of[member] = static_cast<uint32_t>(table.kinds.size()) - 1;
}

Result<Table> compile(const GangRequest& request) {
  if (auto error = check(request)) return fail(std::move(*error));
  Table table = Compiler(request).run();
  if (table.kinds.size() > kMaxKinds) return fail(too_different(request, table.kinds.size(), ""));
  return table;
}

}  // namespace dra::gang
