#include "pkg/gang/gang.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pkg/gang/parts/parted_session.h"
#include "pkg/gang/search/session.h"
#include "pkg/gang/search/table.h"

namespace dra::gang {

std::string_view group_outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFeasible:
      return "Found";
    case Outcome::kInfeasible:
      return "Impossible";
    case Outcome::kBudgetSpent:
      return "Undecided";
    case Outcome::kUnfinished:
      return "Unfinished";
    case Outcome::kError:
      break;
  }
  return "Error";
}

class Gangs::Impl {
 public:
  Impl(inventory::Inventory& inventory, allocator::Allocator& allocator, Options options)
      : inventory_(inventory), allocator_(allocator), options_(std::move(options)) {}

  Decision decide(const GangRequest& request, Nodes& nodes, Duration spent) {
    if (const Duration left = pause(request.uid); left > Duration::zero()) return paused(request.uid, left);
    allocator::SliceLimit slice = options_.slice;
    slice.time = std::max(slice.time - spent, slice.time / 3);
    meter_.begin_slice(slice);
    Kept* kept = kept_for(request);
    if (kept == nullptr) {
      Decision decision;
      decision.outcome = Outcome::kError;
      decision.error = error_;
      return decision;
    }
    const bool same = kept->inventory_version == inventory_.version() && kept->nodes_version == nodes.version();
    if (kept->found && same) {
      Decision found = std::move(*kept->found);
      forget(request.uid);
      return found;
    }
    // What was found for another state is placed again.
    if (kept->found) {
      kept->session->begin_from(*kept->found, kept->nodes_version, kept->tables_version);
      kept->found.reset();
      kept->resumes = true;
    }
    Decision decision = kept->session->go_on(request, nodes);
    if (decision.outcome == Outcome::kFeasible && kept->finds < kMostFinds && request.members.size() >= kManyMembers &&
        options_.slice.clock != nullptr)
      decision = kept_for_next_slice(*kept, std::move(decision), nodes);
    note_spent(request.uid, decision);
    if (decision.outcome == Outcome::kUnfinished) {
      kept->bytes = kept->session->bytes();
      if (kept->found) kept->bytes += kept->found->claims.size() * kBytesOfResult;
      drop_beyond_limits(request.uid);
    } else {
      kept_.erase(request.uid);
    }
    return decision;
  }

  bool has_found(const std::string& uid) const {
    const auto kept = kept_.find(uid);
    return kept != kept_.end() &&
           (kept->second.found || (kept->second.resumes && kept->second.session->places_again()));
  }

  void forget(const std::string& uid) {
    kept_.erase(uid);
    spent_.erase(uid);
  }

  size_t kept_bytes() const {
    size_t sum = 0;
    for (const auto& [uid, kept] : kept_) sum += kept.bytes;
    return sum;
  }

 private:
  // Writing the decision for so many members takes as long as a slice, and gets one of its own; after a change in
  // between they are placed again first, which takes as long once more.
  static constexpr size_t kManyMembers = 256;
  static constexpr uint32_t kMostFinds = 4;      // then it is written in the slice that finds it
  static constexpr size_t kBytesOfResult = 512;  // with its strings

  struct Kept {
    inventory::Hash128 identity;
    uint64_t used = 0;
    std::string ns;
    size_t bytes = 0;
    std::unique_ptr<PartedSession> session;
    std::optional<Decision> found;  // and not returned yet; holds for these versions
    uint32_t finds = 0;             // how often it was kept
    bool resumes = false;           // it was found for another state
    uint64_t inventory_version = 0, tables_version = 0, nodes_version = 0;
  };
  // What a uid has used of its budget, whatever becomes of its members and claims.
  struct Spent {
    uint64_t steps = 0;     // of the current attempt
    uint32_t attempts = 0;  // without an answer, in a row
    MonoTime until{};       // the next one begins no earlier
    std::string reason;     // of the last one
  };

  Decision kept_for_next_slice(Kept& kept, Decision found, const Nodes& nodes) {
    Decision later;
    later.outcome = Outcome::kUnfinished;
    later.unknown_levels = found.unknown_levels;
    later.steps = found.steps;
    later.slices = found.slices;
    ++kept.finds;
    kept.found = std::move(found);
    kept.inventory_version = inventory_.version();
    kept.tables_version = inventory_.tables_version();
    kept.nodes_version = nodes.version();
    return later;
  }

  Duration pause(const std::string& uid) const {
    const auto spent = spent_.find(uid);
    if (options_.slice.clock == nullptr || spent == spent_.end()) return Duration::zero();
    return std::max<Duration>(spent->second.until - options_.slice.clock->mono_now(), Duration::zero());
  }

  Decision paused(const std::string& uid, Duration left) const {
    Decision decision;
    decision.outcome = Outcome::kBudgetSpent;
    decision.reason = spent_.at(uid).reason;
    decision.ask_again = left;
    return decision;
  }

  void note_spent(const std::string& uid, Decision& decision) {
    if (options_.slice.clock == nullptr) return;
    if (decision.outcome != Outcome::kUnfinished && decision.outcome != Outcome::kBudgetSpent)
      return void(spent_.erase(uid));
    // All are forgotten together: rare, and each then has one attempt more.
    if (spent_.size() >= kMaxSpent && !spent_.contains(uid)) spent_.clear();
    Spent& spent = spent_[uid];
    spent.steps = decision.steps;
    if (decision.outcome == Outcome::kUnfinished) return;
    decision.ask_again = std::min(kLongestPause, kFirstPause * (int64_t{1} << std::min(spent.attempts, 16u)));
    spent = {0, spent.attempts + 1, options_.slice.clock->mono_now() + decision.ask_again, decision.reason};
  }

  // The group that is being decided stays if any other of its namespace can go.
  void drop_beyond_limits(const std::string& current) {
    size_t sum = kept_bytes();
    while (kept_.size() > kMaxKept || (sum > kMaxKeptBytes && kept_.size() > 1)) {
      std::unordered_map<std::string_view, size_t> of_namespace;
      const bool too_many = kept_.size() > kMaxKept;
      for (const auto& [uid, kept] : kept_) of_namespace[kept.ns] += too_many ? 1 : kept.bytes;
      const auto rank = [&](const auto& entry) {
        return std::tuple(of_namespace[entry.second.ns], entry.first != current, ~entry.second.used);
      };
      const auto first =
          std::max_element(kept_.begin(), kept_.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
      sum -= first->second.bytes;
      kept_.erase(first);
    }
  }

  // Null: the request is unusable.
  Kept* kept_for(const GangRequest& request) {
    const inventory::Hash128 identity = Session::identity(request);
    const auto known = kept_.find(request.uid);
    if (known != kept_.end() && known->second.identity == identity) {
      known->second.used = ++clock_;
      return &known->second;
    }
    kept_.erase(request.uid);
    Result<Table> table = compile(request);
    if (!table) {
      error_ = table.error();
      return nullptr;
    }
    const auto spent = spent_.find(request.uid);
    Kept& kept = kept_[request.uid];
    kept = {identity,
            ++clock_,
            request.ns,
            0,
            std::make_unique<PartedSession>(inventory_, allocator_, options_, meter_, !request.parts.empty(),
                                            std::move(*table), spent == spent_.end() ? 0 : spent->second.steps),
            std::nullopt};
    return &kept;
  }

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Options options_;
  allocator::Meter meter_;
  std::unordered_map<std::string, Kept> kept_;
  std::unordered_map<std::string, Spent> spent_;
  std::optional<Error> error_;
  uint64_t clock_ = 0;
};

Gangs::Gangs(inventory::Inventory& inventory, allocator::Allocator& allocator, Options options)
    : impl_(std::make_unique<Impl>(inventory, allocator, std::move(options))) {}
Gangs::~Gangs() = default;

Decision Gangs::decide(const GangRequest& request, Nodes& nodes, Duration spent) {
  return impl_->decide(request, nodes, spent);
}
bool Gangs::has_found(const std::string& uid) const {
  return impl_->has_found(uid);
}
void Gangs::forget(const std::string& uid) {
  impl_->forget(uid);
}
size_t Gangs::kept_bytes() const {
  return impl_->kept_bytes();
}

}  // namespace dra::gang
