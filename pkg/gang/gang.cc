#include "pkg/gang/gang.h"

#include <algorithm>
#include <unordered_map>

#include "pkg/gang/session.h"
#include "pkg/gang/table.h"

namespace dra::gang {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFound:
      return "Found";
    case Outcome::kImpossible:
      return "Impossible";
    case Outcome::kUndecided:
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

  Decision decide(const GangRequest& request, Nodes& nodes) {
    meter_.begin_slice(options_.slice);
    Kept* kept = kept_for(request);
    if (kept == nullptr) {
      Decision decision;
      decision.outcome = Outcome::kError;
      decision.error = error_;
      return decision;
    }
    Decision decision = kept->session->go_on(request, nodes);
    if (decision.outcome != Outcome::kUnfinished) kept_.erase(request.uid);
    return decision;
  }

  void forget(const std::string& uid) { kept_.erase(uid); }

 private:
  struct Kept {
    inventory::Hash128 identity;
    uint64_t used = 0;
    std::unique_ptr<Session> session;
  };

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
    if (kept_.size() >= kMaxKept)
      kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                   [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    Kept& kept = kept_[request.uid];
    kept = {identity, ++clock_, std::make_unique<Session>(inventory_, allocator_, options_, meter_, std::move(*table))};
    return &kept;
  }

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Options options_;
  allocator::Meter meter_;
  std::unordered_map<std::string, Kept> kept_;
  std::optional<Error> error_;
  uint64_t clock_ = 0;
};

Gangs::Gangs(inventory::Inventory& inventory, allocator::Allocator& allocator, Options options)
    : impl_(std::make_unique<Impl>(inventory, allocator, std::move(options))) {}
Gangs::~Gangs() = default;

Decision Gangs::decide(const GangRequest& request, Nodes& nodes) {
  return impl_->decide(request, nodes);
}
void Gangs::forget(const std::string& uid) {
  impl_->forget(uid);
}

}  // namespace dra::gang
