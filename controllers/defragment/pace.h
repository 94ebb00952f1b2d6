// Pace: how many pods were moved, or were said to, within the last hour: in all, of a namespace, of an owner.
//
//   if (std::string why = pace.why_not(moves, limits, now); why.empty()) pace.add(moves, now);
//
// Lost with the process, but text() says of the newest moves what read() needs. A pod counts once. At most
// protocol::kMostMovesPerHour are kept. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"

namespace dra::defragment {

// A pod that moves.
struct Move {
  std::string pod;  // uid
  std::string ns;
  std::string owner;              // uid of its controller
  std::string shown, shown_ns;    // the owner and the namespace, for people: "replicaset/web", "namespace ml"
  uint32_t allowed_of_owner = 1;  // moves in an hour that the pod's annotation allows its owner
};

struct MovesPerHour {
  uint32_t all = 20;
  std::function<uint32_t(const std::string& ns)> of_namespace;  // never null
};

class Pace {
 public:
  // A clause that names the limit which these moves exceed with those of the last hour; empty: none. Of an owner the
  // least of its pods' numbers counts.
  std::string why_not(const std::vector<Move>& moves, const MovesPerHour& limits, WallTime now);
  void add(const std::vector<Move>& moves, WallTime now);
  // "SECONDS/namespace/owner/pod", separated by commas, the newest first: what fits into `longest` characters.
  std::string text(size_t longest) const;
  // Adds what such a text says of the last hour; what cannot be read is left out.
  void read(std::string_view text, WallTime now);

 private:
  struct Past {
    WallTime when;
    std::string ns, owner, pod;
  };
  void add_one(Past one);
  void forget_before(WallTime now);

  std::deque<Past> past_;  // the oldest first
};

}  // namespace dra::defragment
