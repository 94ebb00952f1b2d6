#include "controllers/defragment/pace.h"

#include <algorithm>
#include <map>

#include "pkg/protocol/moves.h"

namespace dra::defragment {
namespace {

std::string too_many(const std::string& who, size_t moves, size_t before, uint32_t allowed) {
  return who + " allows " + std::to_string(allowed) + (allowed == 1 ? " move" : " moves") + " in an hour, and " +
         std::to_string(moves) + " of these would be its" +
         (before > 0 ? ", after " + std::to_string(before) + " in the last hour" : "");
}

}  // namespace

// A clock that was set back forgets nothing until it is where it was, or the bound is reached.
void Pace::forget_before(WallTime now) {
  while (!past_.empty() && now - past_.front().when >= std::chrono::hours(1)) past_.pop_front();
}

std::string Pace::why_not(const std::vector<Move>& moves, const MovesPerHour& limits, WallTime now) {
  forget_before(now);
  if (past_.size() + moves.size() > limits.all)
    return too_many("--moves-per-hour", moves.size(), past_.size(), limits.all);
  std::map<std::string, std::pair<size_t, std::string>> namespaces;
  struct Owner {
    size_t moves = 0;
    uint32_t allowed = UINT32_MAX;
    std::string shown;
  };
  std::map<std::string, Owner> owners;
  for (const Move& move : moves) {
    ++namespaces.try_emplace(move.ns, 0, move.shown_ns).first->second.first;
    Owner& owner = owners[move.owner];
    ++owner.moves;
    owner.allowed = std::min(owner.allowed, move.allowed_of_owner);
    owner.shown = move.shown;
  }
  const auto before = [this](auto&& is_one) {
    return static_cast<size_t>(std::count_if(past_.begin(), past_.end(), is_one));
  };
  for (const auto& [ns, counted] : namespaces) {
    const auto& [count, shown] = counted;
    const size_t past = before([&ns = ns](const Past& one) { return one.ns == ns; });
    const uint32_t allowed = limits.of_namespace(ns);
    if (past + count > allowed) return too_many(shown, count, past, allowed);
  }
  for (const auto& [uid, owner] : owners) {
    const size_t past = before([&uid = uid](const Past& one) { return one.owner == uid; });
    if (past + owner.moves > owner.allowed) return too_many(owner.shown, owner.moves, past, owner.allowed);
  }
  return "";
}

void Pace::add(const std::vector<Move>& moves, WallTime now) {
  for (const Move& move : moves) past_.push_back({now, move.ns, move.owner});
  while (past_.size() > protocol::kMostMovesPerHour) past_.pop_front();
}

}  // namespace dra::defragment
