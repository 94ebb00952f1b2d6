// Session: why a group does not fit.
#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/gang/search/session.h"

namespace dra::gang {

namespace {

std::string counted_members(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " member" : " members");
}

std::string within_bound(std::string reason) {
  if (reason.size() > kMaxReason) reason.resize(kMaxReason - 3), reason += "...";
  return reason;
}

}  // namespace

// The reason is about the domain of the widest level that comes closest.
void Session::note_refuted(const Domain& domain, const GangRequest& request) {
  if (domain.level != domains_.back().level) return;  // a wider one will be tried
  never_ = never_ && domain.at_best < request.min_count;
  const bool counted = domain.fits < request.min_count;
  const uint64_t placed = counted ? domain.fits : memory_.most_placed;
  if (best_.known && placed <= best_.placed) return;
  best_ = {true, &domain, placed, counted, {}};
  if (!counted) best_.alone = memory_.alone;
}

Session::Blame Session::blame(const GangRequest& request) const {
  if (request.min_count < request.members.size()) return {};
  for (const uint32_t kind : kind_order_) {
    uint64_t fits = fit_count_of_kind(kind, *best_.domain);
    if (!best_.alone.empty()) fits = std::min<uint64_t>(fits, best_.alone[kind]);
    if (fits < table_.kinds[kind].members.size()) return {kind, fits};
  }
  return {};
}

std::string Session::largest(const GangRequest& request, const Blame& blame) const {
  const Domain& domain = *best_.domain;
  const std::string where = domain.level
                                ? "the largest domain of level " + levels_[*domain.level] + " (" + domain.text + ") has"
                                : "there is";
  if (table_.kinds.size() > 1 && blame.kind) {
    const std::vector<uint32_t>& members = table_.kinds[*blame.kind].members;
    return where + " room for " + std::to_string(blame.fits_of_kind) + " of " + counted_members(members.size()) +
           " like " + request.members[members[0]].name;
  }
  return where + " room for " + (table_.kinds.size() > 1 ? "no more than " : "") + std::to_string(best_.placed) +
         " of " + counted_members(request.min_count) +
         (table_.kinds.size() > 1 && !best_.counted ? ", though each kind of member would fit without the others" : "");
}

// Nodes that accept no member now, because of a cordon or a volume, may accept some later: their devices count too.
bool Session::never_anywhere(const GangRequest& request) const {
  const std::vector<NodeId> all = inventory_.nodes();
  uint64_t at_best = 0;
  // A slice of its own: it is the last work for this group.
  meter_.begin_slice(options_.slice);
  for (const Kind& kind : table_.kinds) {
    if (meter_.stopped()) return false;
    meter_.charge(all.size() / 32 + 8);
    allocator::Request own;
    for (const uint32_t claim : table_.claims_of[kind.members[0]])
      if (!table_.claims[claim].shared()) own.claims.push_back(table_.claims[claim].object);
    const allocator::FitCounts fits = allocator_.fit_counts(own, all);
    if (!fits.finished) return false;
    uint64_t of_kind = 0;
    for (const uint32_t members : fits.at_best) of_kind += std::min<uint64_t>(members, kind.members.size());
    at_best += std::min({of_kind, uint64_t{kind.members.size()}, fits.total_at_best});
  }
  return at_best < request.min_count;
}

Decision Session::impossible(const GangRequest& request) const {
  Decision decision;
  decision.outcome = Outcome::kInfeasible;
  if (!best_.known) {
    decision.reason = within_bound(no_domain_.empty() ? "its members may go to no node" : no_domain_);
    return decision;
  }
  decision.never = never_ && never_anywhere(request);
  const Blame blame = this->blame(request);
  decision.reason = within_bound(largest(request, blame));
  if (decision.never)
    decision.reason = within_bound(decision.reason + ", and too little even if all devices were free");
  if (blame.kind || table_.kinds.size() == 1) {
    const std::vector<uint32_t>& members = table_.kinds[blame.kind.value_or(0)].members;
    decision.guilty = members[std::min<uint64_t>(blame.kind ? blame.fits_of_kind : best_.placed, members.size() - 1)];
  }
  return decision;
}

Decision Session::undecided(const GangRequest& request) const {
  Decision decision;
  decision.outcome = Outcome::kBudgetSpent;
  decision.reason =
      within_bound("undecided after " + std::to_string(progress_.steps) + " steps: at most " +
                   std::to_string(std::max(memory_.most_placed, best_.known && !best_.counted ? best_.placed : 0)) +
                   " of " + counted_members(request.min_count) + " were placed together");
  return decision;
}

}  // namespace dra::gang
