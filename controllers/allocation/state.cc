#include "controllers/allocation/state.h"

#include <algorithm>
#include <utility>

#include "controllers/allocation/kept/kept_members.h"

namespace dra::allocation {

namespace {

gang::Options gang_options(const allocator::Allocator& allocator) {
  gang::Options options;
  options.slice = allocator.options().slice;
  options.step_budget = std::min(options.step_budget, allocator.options().max_step_budget);
  return options;
}

}  // namespace

State::State(Options chosen, inventory::Inventory& devices, allocator::Allocator& searches,
             nodes::NodeChooser& of_nodes)
    : options(std::move(chosen)),
      inventory(devices),
      allocator(searches),
      nodes(of_nodes),
      gangs(devices, searches, gang_options(searches)),
      kept_members(std::make_unique<KeptMembers>()) {}

State::~State() = default;

void State::events_end() {
  leaders.forget_all();
  kept_members->forget_all();
}

void State::controllers_run(const std::set<std::string_view>& names) {
  options.own_claims = names.contains("claimtemplate");
  kept_members->forget_all();
}

}  // namespace dra::allocation
