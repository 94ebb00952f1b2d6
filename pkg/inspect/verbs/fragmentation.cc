#include "pkg/inspect/verbs/fragmentation.h"

#include <utility>

#include "pkg/inspect/verbs/top_cells.h"

namespace dra::inspect {

std::vector<ClassFragmentation> fragmentation_of(State& state) {
  usage::Packings packings;
  std::vector<ClassFragmentation> all;
  for (const auto& [name, device_class] : state.objects.classes) {
    usage::Fragmentation counts(state.inventory.device_index(), packings);
    inventory::PoolId next = 0;
    uint64_t budget = UINT64_MAX;
    const bool known =
        state.allocator().each_pool_of_class(name, next, budget, [&counts](const auto& pool, auto usable) {
          counts.add(pool, usable);
          return true;
        });
    all.push_back({known ? counts.found() : usage::ClassFragmentation(), name, known});
  }
  return all;
}

Answer top_fragmentation(State& state) {
  Answer answer{"DRATopFragmentation"};
  Table table{"",
              "fragmentation",
              {{"CLASS", "class"},
               {"LARGEST", "largest"},
               {"ON NODE", "node"},
               {"IF PACKED", "ifPacked"},
               {"LOST", "lost"},
               {"FREE", "free"}},
              {}};
  for (const ClassFragmentation& one : fragmentation_of(state)) {
    const std::string row = "deviceclass/" + one.device_class;
    if (!one.known) {
      table.rows.push_back(
          {row, {one.device_class, "-", Cell("a selector of it cannot be evaluated", Tone::kBad), "-", "-", "-"}});
      answer.status = Status::kNo;
      continue;
    }
    table.rows.push_back({row,
                          {one.device_class, Cell((one.exact ? "" : ">=") + std::to_string(one.largest)),
                           some_or_dash(one.node), Cell(std::to_string(one.if_packed())),
                           Cell(std::to_string(one.lost()), one.lost() > 0 ? Tone::kWarn : Tone::kPlain),
                           Cell(std::to_string(one.free))}});
    if (one.lost() == 0) continue;
    answer.say_after({"Fragmentation",
                      one.device_class + ": one node can give " + counted(one.largest, "device") + " now, and " +
                          std::to_string(one.if_packed()) +
                          " if what is held were packed; kubectl dra whatif make-room "
                          "says who would have to move",
                      {"DeviceClass", "", one.device_class},
                      "",
                      {{"largest", one.largest}, {"ifPacked", one.if_packed()}, {"free", one.free}}});
  }
  const bool hidden = state.objects.hides("deviceclasses");
  if (table.rows.empty())
    answer.say(
        hidden ? "NotVisible" : "NoClasses",
        hidden ? "device classes are not visible: you may not list deviceclasses" : "there are no device classes");
  answer.tables.push_back(std::move(table));
  if (hidden || devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

}  // namespace dra::inspect
