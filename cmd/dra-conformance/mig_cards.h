// Cards with MIG partitions as bits, and the moves that make a place for an ask: which running asks must be lifted, and
// where they go.
//
// One level: what moves goes to free slots. Of all nodes and starts the place is taken for which the fewest partitions
// move, if all of them find another place; an ask is lifted as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dra::conformance {

struct MigProfile {
  const char* name;
  int memory;
  int compute;
  std::vector<int> starts;
};
const std::array<MigProfile, 6>& mig_profiles();
// Throws for an unknown name.
const MigProfile& mig_profile(const std::string& name);

struct MigSlot {
  int gpu = 0;
  int start = 0;
  bool operator==(const MigSlot&) const = default;
};

struct MigAsk {
  const MigProfile* profile = nullptr;
  int count = 1;
};

struct MigPlace {
  int node = 0;
  std::vector<MigSlot> slots;
};

class MigCards {
 public:
  MigCards(int nodes, int gpus, int compute);

  void put(const std::string& id, const MigAsk& ask, const MigPlace& place);
  void lift(const std::string& id);
  bool runs(const std::string& id) const { return running_.contains(id); }
  int count_of(const std::string& id) const { return running_.at(id).ask.count; }
  const MigAsk& ask_of(const std::string& id) const { return running_.at(id).ask; }
  int running_partitions() const { return partitions_; }

  // Where it breaks the fewest starts; nothing: it fits nowhere.
  std::optional<MigPlace> best_place(const MigAsk& ask) const;
  struct Plan {
    MigPlace place;                         // of the ask
    std::map<std::string, MigPlace> moved;  // the new places of running asks
    int partitions = 0;                     // that move
  };
  // Of at most `limit` moved partitions; nothing: none was found. Changes nothing.
  std::optional<Plan> make_room(const MigAsk& ask, int limit);

 private:
  struct Card {
    unsigned used = 0;  // memory slices
    int compute = 0;
  };
  struct Running {
    MigAsk ask;
    MigPlace place;
  };
  struct Clearing {
    MigPlace place;
    std::vector<std::string> lifted;
    int partitions = 0;
    int broken = 0;
  };

  Card& card(int node, int gpu) { return cards_[static_cast<size_t>(node * gpus_ + gpu)]; }
  const Card& card(int node, int gpu) const { return cards_[static_cast<size_t>(node * gpus_ + gpu)]; }
  bool is_free(const Card& card, const MigProfile& profile, int start) const;
  int broken_by(const Card& card, const MigProfile& profile, int start) const;
  std::optional<MigPlace> place_on(const MigAsk& ask, int node, int& broken) const;
  std::vector<std::string> holders(int node, int gpu) const;
  std::optional<Clearing> clear_slot(const MigAsk& ask, int node, const MigSlot& slot, int limit) const;
  std::optional<Clearing> clear_node(const MigAsk& ask, int node, int limit) const;
  std::optional<Plan> carry_out(const MigAsk& ask, const Clearing& clearing);

  const int nodes_, gpus_, compute_;
  std::vector<Card> cards_;
  std::map<std::string, Running> running_;
  std::vector<std::vector<std::string>> on_node_;
  int partitions_ = 0;
};

}  // namespace dra::conformance
