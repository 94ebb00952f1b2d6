#include "controllers/defragment/pace.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
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
  for (const Move& move : moves) add_one({now, move.ns, move.owner, move.pod});
}

void Pace::add_one(Past one) {
  if (std::any_of(past_.begin(), past_.end(), [&](const Past& other) { return other.pod == one.pod; })) return;
  past_.insert(
      std::upper_bound(past_.begin(), past_.end(), one, [](const Past& a, const Past& b) { return a.when < b.when; }),
      std::move(one));
  while (past_.size() > protocol::kMostMovesPerHour) past_.pop_front();
}

std::string Pace::text(size_t longest) const {
  std::string text;
  for (auto one = past_.rbegin(); one != past_.rend(); ++one) {
    std::string more = text.empty() ? "" : ",";
    more += std::to_string(Timestamp(one->when).seconds()) + "/" + one->ns + "/" + one->owner + "/" + one->pod;
    if (text.size() + more.size() > longest) break;
    text += more;
  }
  return text;
}

void Pace::read(std::string_view text, WallTime now) {
  for (const std::string& entry : split(text, ',')) {
    const std::vector<std::string> parts = split(entry, '/');
    if (parts.size() != 4) continue;
    int64_t seconds = 0;
    const char* const end = parts[0].data() + parts[0].size();
    if (const auto [at, error] = std::from_chars(parts[0].data(), end, seconds); error != std::errc() || at != end)
      continue;
    if (seconds < 0 || seconds > Timestamp(now).seconds()) continue;
    const WallTime when{std::chrono::seconds(seconds)};
    if (when > now || now - when >= std::chrono::hours(1)) continue;
    add_one({when, parts[1], parts[2], parts[3]});
  }
}

}  // namespace dra::defragment
