// RailedSession: one group's attempt whose devices must be on the same rails. Chooses a list of values for each rule,
// and runs a Session with the lists fixed; docs/design/groups.md, "Rails", has the order and the proofs.
//
//   Decision decision = session.go_on(request, nodes);   // as Session
//
// Without rules it is the Session itself. Soft rules are tried one after the other once the hard ones hold; one that
// cannot be met within the budget is not met.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/gang/rails/choices.h"
#include "pkg/gang/rails/supply.h"
#include "pkg/gang/search/session.h"

namespace dra::gang {

class RailedSession {
 public:
  RailedSession(inventory::Inventory& inventory, allocator::Allocator& allocator, const Options& options,
                allocator::Meter& meter, Table table, uint64_t spent);

  Decision go_on(const GangRequest& request, Nodes& nodes);
  void begin_from(const Decision& found, uint64_t nodes_version, uint64_t tables_version);
  bool places_again() const { return session_ != nullptr && session_->places_again(); }
  size_t bytes() const;

 private:
  // A rule whose list is chosen.
  struct Fixed {
    std::unique_ptr<RailChoices> choices;
    RailList list;
  };
  enum class Go : uint8_t { kOn, kEnd, kStopped };
  // What a slice left to do before the next search.
  enum class Pending : uint8_t { kNothing, kDeeper, kNextList };

  void begin(const GangRequest& request);
  void begin_goal(const GangRequest& request);
  void open_session();
  std::unique_ptr<Session> make_session() const;
  // The following answer how to go on; kEnd: `answer_` is set.
  Go judge(const GangRequest& request, Decision decision, Nodes& nodes);
  Go solved(const GangRequest& request, Decision decision);
  Go next_soft(const GangRequest& request);
  Go fail_goal(const GangRequest& request);
  Go step(const GangRequest& request, Nodes& nodes);
  Go deeper(const GangRequest& request, Nodes& nodes);
  Go next_list(const GangRequest& request);
  bool holds(const GangRequest& request, uint32_t rule, const Decision& decision) const;
  bool run_apart(const RailRule& rule) const;
  bool is_trivial(const GangRequest& request, uint32_t rule) const;
  std::string why_not(const GangRequest& request) const;

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Options& options_;
  allocator::Meter& meter_;
  Table table_;  // moved to session_ if there are no rules

  bool begun_ = false;
  bool plain_ = false;  // no rules
  Pending pending_ = Pending::kNothing;
  std::vector<std::string> unknown_levels_;
  uint64_t inventory_version_ = 0, nodes_version_ = 0;
  uint64_t steps_ = 0;
  uint32_t slices_ = 0;
  std::vector<uint32_t> goal_;       // rules that must hold: the hard ones, the soft ones that are met, and one more
  std::vector<uint32_t> to_choose_;  // of these, those that need a list
  std::vector<bool> met_;            // by rule
  uint32_t soft_ = 0;                // the rule that is tried, once the hard ones hold
  bool undecided_ = false;           // for this goal
  bool apart_ = false;               // members that run already break a rule of the goal
  std::vector<Fixed> fixed_;         // of to_choose_, a beginning
  std::vector<std::unique_ptr<RailSupply>> supplies_;  // by rule
  std::vector<bool> collected_;                        // by rule
  std::unique_ptr<Session> session_;
  std::vector<RailList> lists_;       // of session_
  bool again_ = false;                // session_ is that of an earlier state, and tried first
  std::optional<Decision> solution_;  // the best so far
  std::vector<RailList> solution_lists_;
  Decision answer_;
  std::string reason_;  // without any list chosen
  bool never_ = false;
  std::optional<size_t> guilty_;
  uint64_t searched_ = 0;  // lists of the goal
  uint64_t best_count_ = 0;
  std::vector<std::string> best_entries_;
  uint32_t best_rule_ = 0;
};

}  // namespace dra::gang
