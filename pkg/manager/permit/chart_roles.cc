#include "pkg/manager/permit/chart_roles.h"
#include "controllers/allocation/options.h"
#include "controllers/recovery/options.h"

#include <algorithm>
#include <optional>

#include "pkg/protocol/moves.h"
#include "pkg/protocol/promise.h"

namespace dra::manager {

namespace {

// A value of the chart that chooses a mode: what it may be, and what each does to the options, as in the chart.
struct ModeValue {
  const char* path;
  struct Choice {
    const char* value;
    void (*apply)(ManagerOptions&);
  };
  std::vector<Choice> choices;  // the default first
};

const std::vector<ModeValue>& mode_values() {
  using O = ManagerOptions;
  static const std::vector<ModeValue> values{
      {"scheduling.mode",
       {{"gate", [](O& o) { o.settings.scheduling = reconcile::Scheduling::kGate; }},
        {"bind", [](O& o) { o.settings.scheduling = reconcile::Scheduling::kBind; }},
        {"observe", [](O& o) { o.settings.scheduling = reconcile::Scheduling::kObserve; }}}},
      {"claimTemplates",
       {{"observe", [](O& o) { o.settings.claim_templates = ClaimTemplates::kObserve; }},
        {"own", [](O& o) { o.settings.claim_templates = ClaimTemplates::kOwn; }}}},
      {"deviceTaintEviction",
       {{"observe", [](O& o) { o.settings.device_taint_eviction = DeviceTaintEviction::kObserve; }},
        {"own", [](O& o) { o.settings.device_taint_eviction = DeviceTaintEviction::kOwn; }}}},
      {"recreatePinnedPods",
       {{"off", [](O& o) { o.settings.flags[std::string(allocation::kRecreateFlag)] = "off"; }},
        {"on", [](O& o) { o.settings.flags[std::string(allocation::kRecreateFlag)] = "on"; }}}},
      {"preemption",
       {{"off", [](O& o) { o.settings.flags[std::string(protocol::kPreemptionFlag)] = "off"; }},
        {"on", [](O& o) { o.settings.flags[std::string(protocol::kPreemptionFlag)] = "on"; }}}},
      {"defragment",
       {{"off", [](O& o) { o.settings.flags[std::string(protocol::kDefragmentFlag)] = "off"; }},
        {"advice", [](O& o) { o.settings.flags[std::string(protocol::kDefragmentFlag)] = "advice"; }},
        {"on", [](O& o) { o.settings.flags[std::string(protocol::kDefragmentFlag)] = "on"; }}}},
      {"recoverFailedPrepares",
       {{"off", [](O& o) { o.settings.flags[std::string(recovery::kRecoverFlag)] = "off"; }},
        {"on", [](O& o) { o.settings.flags[std::string(recovery::kRecoverFlag)] = "on"; }}}},
      {"usage",
       {{"on",
         [](O& o) {
           o.usage = O::LeaseRef{"", "dra-controller-manager-usage"};
         }},
        {"off", [](O& o) { o.usage.reset(); }}}},
  };
  return values;
}

struct Combination {
  std::vector<size_t> choice;  // one index for each of mode_values()
  ManagerOptions options;
};

std::vector<Combination> combinations() {
  std::vector<Combination> all{{{}, {}}};
  all.front().options.lease = ManagerOptions::LeaseRef{"", "dra-controller-manager"};
  for (const ModeValue& value : mode_values()) {
    std::vector<Combination> longer;
    for (const Combination& begun : all)
      for (size_t i = 0; i < value.choices.size(); ++i) {
        longer.push_back(begun);
        longer.back().choice.push_back(i);
        value.choices[i].apply(longer.back().options);
      }
    all = std::move(longer);
  }
  return all;
}

// The fewest conditions that hold for `wanted` and for no other of `all`; nothing if there are none.
std::optional<std::vector<ChartCondition>> conditions(const std::vector<const Combination*>& all,
                                                      const std::vector<const Combination*>& wanted) {
  const std::vector<ModeValue>& values = mode_values();
  std::vector<std::vector<bool>> allowed;  // by value and choice
  for (const ModeValue& value : values) allowed.emplace_back(value.choices.size(), false);
  for (const Combination* c : wanted)
    for (size_t v = 0; v < values.size(); ++v) allowed[v][c->choice[v]] = true;
  const auto exact = [&] {
    return std::all_of(all.begin(), all.end(), [&](const Combination* c) {
      bool holds = true;
      for (size_t v = 0; v < values.size(); ++v) holds = holds && allowed[v][c->choice[v]];
      return holds == (std::find(wanted.begin(), wanted.end(), c) != wanted.end());
    });
  };
  if (!exact()) return std::nullopt;
  std::vector<ChartCondition> found;
  for (size_t v = 0; v < values.size(); ++v) {
    const std::vector<bool> before = allowed[v];
    allowed[v].assign(before.size(), true);
    if (exact()) continue;  // implied by the others
    allowed[v] = before;
    ChartCondition& condition = found.emplace_back(ChartCondition{values[v].path, {}});
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i]) condition.in.emplace_back(values[v].choices[i].value);
  }
  return found;
}

}  // namespace

Result<std::vector<ChartRole>> chart_roles() {
  const std::vector<Combination> all = combinations();
  std::vector<ChartRole> roles;
  for (const PermissionRole& role : permission_roles()) {
    std::vector<const Combination*> any, needed, limited;
    size_t permissions = 0;
    for (const Combination& c : all) permissions = std::max(permissions, permissions_of(role, c.options).size());
    for (const Combination& c : all) {
      any.push_back(&c);
      const auto roles_here = needed_roles(c.options);
      if (std::find(roles_here.begin(), roles_here.end(), &role) == roles_here.end()) continue;
      needed.push_back(&c);
      if (permissions_of(role, c.options).size() < permissions) limited.push_back(&c);
    }
    const auto when = conditions(any, needed);
    const auto reads_only = conditions(needed, limited);
    if (needed.empty() || !when || !reads_only)
      return fail(Code::kInternal,
                  "role " + std::string(role.name) + ": no list of conditions on the chart's values expresses it");
    roles.push_back({&role, *when, !limited.empty(), limited.empty() ? std::vector<ChartCondition>{} : *reads_only});
  }
  return roles;
}

ManagerOptions chart_defaults() {
  return combinations().front().options;
}

}  // namespace dra::manager
