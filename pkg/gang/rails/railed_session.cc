#include "pkg/gang/rails/railed_session.h"

#include <algorithm>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/inventory/value_code.h"

namespace dra::gang {

namespace {

// The devices of the member for the rule, if the decision holds.
alignment::MemberRails devices_of(const GangRequest& request, const RailRule& rule, size_t member,
                                  const Decision& decision, const inventory::DeviceIndex& device_index) {
  const RailRule::Of& of = rule.of[member];
  alignment::MemberRails devices = of.taken;
  for (const auto& [claim, name] : of.requests) {
    const std::string& uid = request.members[member].claims[claim]->metadata.uid;
    for (const ClaimResult& one : decision.claims)
      if (one.claim->metadata.uid == uid) add_values_of(one.result, name, rule.attribute, device_index, devices);
  }
  return devices;
}

std::string values_text(const std::vector<std::string>& entries) {
  constexpr size_t kShown = 8;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShown, entries.size()); ++i) shown.push_back(inventory::value_text(entries[i]));
  return join(shown, ", ") + (entries.size() > kShown ? ", ..." : "");
}

}  // namespace

RailedSession::RailedSession(inventory::Inventory& inventory, allocator::Allocator& allocator, const Options& options,
                             allocator::Meter& meter, Table table, uint64_t spent)
    : inventory_(inventory),
      allocator_(allocator),
      options_(options),
      meter_(meter),
      table_(std::move(table)),
      steps_(spent) {}

size_t RailedSession::bytes() const {
  constexpr size_t kOfLine = 256;
  size_t sum = sizeof *this + (session_ == nullptr ? 0 : session_->bytes());
  for (const auto& supply : supplies_)
    for (size_t k = 0; supply != nullptr && k < supply->kinds().size(); ++k)
      sum += supply->kinds()[k].nodes.size() * sizeof(NodeId) + supply->kinds()[k].lines.size() * kOfLine;
  return sum;
}

// A session for lists_.
std::unique_ptr<Session> RailedSession::make_session() const {
  Table table = table_;
  std::vector<uint32_t> must_place;
  for (const RailList& list : lists_)
    if (list.longest) must_place.push_back(own_kind(table, *list.longest));
  auto session = std::make_unique<Session>(inventory_, allocator_, options_, meter_, std::move(table), steps_);
  session->set_rails(lists_, std::move(must_place));
  return session;
}

void RailedSession::begin_from(const Decision& found, uint64_t nodes_version, uint64_t tables_version) {
  if (!plain_) {
    if (solution_) lists_ = solution_lists_;
    session_ = make_session();
    again_ = true;
    begun_ = false;
  }
  session_->begin_from(found, nodes_version, tables_version);
}

bool RailedSession::run_apart(const RailRule& rule) const {
  std::vector<alignment::MemberRails> members;
  for (const auto& [name, devices] : rule.running) members.push_back(devices);
  return alignment::agree(members) == alignment::Agreement::kDisagree;
}

// A list is not needed where at most one member is bound.
bool RailedSession::is_trivial(const GangRequest& request, uint32_t rule) const {
  size_t bound = request.rails[rule].running.size();
  for (const RailRule::Of& of : request.rails[rule].of) bound += !of.requests.empty();
  return bound < 2;
}

void RailedSession::begin(const GangRequest& request) {
  begun_ = true;
  pending_ = Pending::kNothing;
  met_.assign(request.rails.size(), false);
  supplies_.clear();
  supplies_.resize(request.rails.size());
  collected_.assign(request.rails.size(), false);
  solution_.reset();
  goal_.clear();
  soft_ = 0;
  for (; soft_ < request.rails.size() && !request.rails[soft_].soft; ++soft_) goal_.push_back(soft_);
  begin_goal(request);
}

void RailedSession::begin_goal(const GangRequest& request) {
  to_choose_.clear();
  for (const uint32_t rule : goal_)
    if (!is_trivial(request, rule)) to_choose_.push_back(rule);
  apart_ = std::any_of(goal_.begin(), goal_.end(), [&](uint32_t rule) { return run_apart(request.rails[rule]); });
  fixed_.clear();
  if (!again_) session_.reset();
  undecided_ = false;
  searched_ = best_count_ = 0;
  best_entries_.clear();
  reason_.clear();
}

void RailedSession::open_session() {
  lists_.clear();
  for (const uint32_t rule : goal_) {
    RailList any;
    any.rule = rule;
    any.any = true;
    const auto fixed =
        std::find_if(fixed_.begin(), fixed_.end(), [&](const Fixed& one) { return one.list.rule == rule; });
    lists_.push_back(fixed == fixed_.end() ? any : fixed->list);
  }
  if (!fixed_.empty()) ++searched_;
  session_ = make_session();
}

Decision RailedSession::go_on(const GangRequest& request, Nodes& nodes) {
  if (request.rails.empty()) {
    if (!std::exchange(plain_, true))
      session_ = std::make_unique<Session>(inventory_, allocator_, options_, meter_, std::move(table_), steps_);
    return session_->go_on(request, nodes);
  }
  ++slices_;
  if (begun_ && (inventory_version_ != inventory_.version() || nodes_version_ != nodes.version())) {
    // The lists that were searched may still hold: they are tried first.
    again_ = session_ != nullptr;
    begun_ = false;
  }
  if (!begun_) begin(request);
  answer_ = {};
  answer_.outcome = Outcome::kUnfinished;
  Go go = Go::kOn;
  while (go == Go::kOn) go = step(request, nodes);
  if (answer_.outcome == Outcome::kUnfinished && steps_ >= options_.step_budget) {
    undecided_ = true;
    while (fail_goal(request) != Go::kEnd) {
    }
  }
  inventory_version_ = inventory_.version();
  nodes_version_ = nodes.version();
  answer_.steps = steps_;
  answer_.slices = slices_;
  answer_.unknown_levels = unknown_levels_;
  return std::move(answer_);
}

// One search, or what is left to do before one.
RailedSession::Go RailedSession::step(const GangRequest& request, Nodes& nodes) {
  Go go = Go::kOn;
  if (apart_) {
    go = fail_goal(request);
  } else if (pending_ != Pending::kNothing) {
    go = std::exchange(pending_, Pending::kNothing) == Pending::kDeeper ? deeper(request, nodes) : next_list(request);
  } else {
    if (session_ == nullptr) open_session();
    Decision decision = session_->go_on(request, nodes);
    steps_ = decision.steps;
    unknown_levels_ = decision.unknown_levels;
    if (decision.outcome == Outcome::kUnfinished || decision.outcome == Outcome::kError) {
      answer_ = std::move(decision);
      return Go::kEnd;
    }
    go = judge(request, std::move(decision), nodes);
  }
  return go == Go::kOn && meter_.stopped() ? Go::kStopped : go;
}

bool RailedSession::holds(const GangRequest& request, uint32_t number, const Decision& decision) const {
  const RailRule& rule = request.rails[number];
  std::vector<alignment::MemberRails> members;
  for (const auto& [name, devices] : rule.running) members.push_back(devices);
  for (const Placed& placed : decision.members)
    if (!rule.of[placed.member].requests.empty())
      members.push_back(devices_of(request, rule, placed.member, decision, inventory_.device_index()));
  return alignment::agree(members) == alignment::Agreement::kAgree;
}

RailedSession::Go RailedSession::judge(const GangRequest& request, Decision decision, Nodes& nodes) {
  const bool again = std::exchange(again_, false);
  if (decision.outcome == Outcome::kFeasible) {
    const std::vector<uint32_t>& goal = goal_;
    if (std::all_of(goal.begin(), goal.end(), [&](uint32_t rule) { return holds(request, rule, decision); }))
      return solved(request, std::move(decision));
  }
  session_.reset();
  if (again) return Go::kOn;  // now from the beginning
  if (fixed_.empty() && decision.outcome != Outcome::kFeasible) {
    reason_ = decision.reason;
    never_ = decision.never;
    guilty_ = decision.guilty;
  }
  if (decision.outcome == Outcome::kInfeasible) return fixed_.empty() ? fail_goal(request) : next_list(request);
  if (decision.outcome == Outcome::kBudgetSpent) undecided_ = true;
  if (steps_ >= options_.step_budget) {
    undecided_ = true;
    return fail_goal(request);
  }
  if (fixed_.size() < to_choose_.size()) return deeper(request, nodes);
  // With all lists chosen it holds, except for lists of values so large that comparing them takes too long.
  if (decision.outcome == Outcome::kFeasible) undecided_ = true;
  return fixed_.empty() ? fail_goal(request) : next_list(request);
}

RailedSession::Go RailedSession::solved(const GangRequest& request, Decision decision) {
  solution_ = std::move(decision);
  solution_lists_ = lists_;
  session_.reset();
  for (const uint32_t rule : goal_) met_[rule] = true;
  return next_soft(request);
}

// Tries the next soft rule that does not hold yet.
RailedSession::Go RailedSession::next_soft(const GangRequest& request) {
  std::erase_if(goal_, [&](uint32_t rule) { return !met_[rule]; });
  for (; soft_ < request.rails.size(); ++soft_) {
    if (met_[soft_]) continue;
    goal_.push_back(soft_);
    if (!holds(request, soft_, *solution_)) {
      if (steps_ >= options_.step_budget) {
        goal_.pop_back();
        continue;
      }
      begin_goal(request);
      return Go::kOn;
    }
    met_[soft_] = true;
  }
  answer_ = std::move(*solution_);
  answer_.rails_met = met_;
  return Go::kEnd;
}

RailedSession::Go RailedSession::fail_goal(const GangRequest& request) {
  fixed_.clear();
  session_.reset();
  if (solution_) {
    ++soft_;
    return next_soft(request);
  }
  answer_ = {};
  answer_.outcome = undecided_ ? Outcome::kBudgetSpent : Outcome::kInfeasible;
  answer_.reason = why_not(request);
  if (answer_.reason.size() > kMaxReason) answer_.reason.resize(kMaxReason);
  answer_.never = !undecided_ && never_ && !reason_.empty();
  answer_.guilty = guilty_;
  return Go::kEnd;
}

// Chooses a list for one more rule.
RailedSession::Go RailedSession::deeper(const GangRequest& request, Nodes& nodes) {
  const uint32_t rule = to_choose_[fixed_.size()];
  if (supplies_[rule] == nullptr) supplies_[rule] = std::make_unique<RailSupply>(request, table_, rule);
  while (!collected_[rule]) {
    collected_[rule] = supplies_[rule]->collect(request, table_, nodes, allocator_, meter_);
    if (collected_[rule]) break;
    pending_ = Pending::kDeeper;
    return Go::kStopped;
  }
  Fixed& fixed = fixed_.emplace_back();
  fixed.choices = std::make_unique<RailChoices>(request, table_, rule, *supplies_[rule]);
  return next_list(request);
}

// The next list of the last rule, or of the one before it.
RailedSession::Go RailedSession::next_list(const GangRequest& request) {
  session_.reset();
  while (!fixed_.empty()) {
    Fixed& last = fixed_.back();
    const RailChoices::Step step = last.choices->next(last.list, meter_);
    steps_ += 1;
    if (step == RailChoices::Step::kList) return Go::kOn;
    if (step == RailChoices::Step::kStopped) {
      pending_ = Pending::kNextList;
      return Go::kStopped;
    }
    if (last.choices->best_count() > best_count_ || best_entries_.empty()) {
      best_count_ = last.choices->best_count();
      best_entries_ = last.choices->best_entries();
      best_rule_ = last.list.rule;
    }
    fixed_.pop_back();
  }
  return fail_goal(request);
}

std::string RailedSession::why_not(const GangRequest& request) const {
  for (const uint32_t rule : goal_) {
    const auto& running = request.rails[rule].running;
    if (!run_apart(request.rails[rule])) continue;
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min<size_t>(4, running.size()); ++i) names.push_back(running[i].first);
    return "the members that run already (" + join(names, ", ") + (running.size() > names.size() ? ", ..." : "") +
           ") are not on the same rails of " + request.rails[rule].attribute +
           ": nobody can join them until one of them ends";
  }
  std::vector<std::string> attributes;
  for (const uint32_t rule : goal_) attributes.push_back(request.rails[rule].attribute);
  const std::string all = join(attributes, " and ");
  if (!reason_.empty())
    return attributes.empty() ? reason_ : reason_ + "; its devices must have " + all + " (same-across-members)";
  const std::string members = std::to_string(request.min_count);
  std::string text = "no values of " + all + " are free for " + members + " members together (same-across-members)";
  if (searched_ > 0) text += "; " + std::to_string(searched_) + " choices of values were searched";
  if (!best_entries_.empty())
    text += "; of those refused by counting, the best (" + values_text(best_entries_) + ") has devices for " +
            std::to_string(best_count_) + " of them";
  if (undecided_) text += "; the budget was spent before all were";
  return text;
}

}  // namespace dra::gang
