#include "pkg/apiserver/budget_keeper.h"

#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/policy/budget.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr std::chrono::milliseconds kBudgetDelay{20};
constexpr const char* kBudgetGroup = "policy";
constexpr const char* kBudgets = "poddisruptionbudgets";

struct CountedKind {
  const char* group;
  const char* plural;
};
constexpr CountedKind kCounted[] = {
    {"", "pods"}, {kBudgetGroup, kBudgets}, {"apps", "replicasets"}, {"apps", "statefulsets"}, {"apps", "deployments"}};

}  // namespace

struct BudgetKeeper::State {
  Reactor& reactor;
  Store& store;
  const ObjectReader& reader;
  const KindRegistry& kinds;
  std::string table;
  std::map<std::string, uint64_t> listeners;  // by table
  std::set<std::string> dirty;                // namespaces
  Handle due, again;

  State(Reactor& reactor_in, Store& store_in, const ObjectReader& reader_in, const KindRegistry& kinds_in)
      : reactor(reactor_in), store(store_in), reader(reader_in), kinds(kinds_in) {
    for (const auto& kind : kinds.kinds()) {
      for (const CountedKind& counted : kCounted) {
        if (kind->info().group != counted.group || kind->info().plural != counted.plural) continue;
        const std::string name = table_of(kind->info());
        if (kind->info().plural == kBudgets) table = name;
        listeners[name] = store.listen(name, [this](const ChangePtr& change) { note(*change); });
      }
    }
    for (const auto& [key, object] : store.objects(table)) mark(key.substr(0, key.find('/')));
  }
  ~State() {
    for (const auto& [name, id] : listeners) store.unlisten(name, id);
  }

  void note(const Change& change) {
    const std::string ns = change.key.substr(0, change.key.find('/'));
    bool some = false;
    reader.for_each(kBudgetGroup, kBudgets, ns, [&](const Json&) { some = true; });
    if (some) mark(ns);
  }

  void mark(const std::string& ns) {
    dirty.insert(ns);
    if (dirty.size() == 1) due = reactor.after(kBudgetDelay, [this] { count(); });
  }

  void count() {
    const std::set<std::string> namespaces = std::exchange(dirty, {});
    const Timestamp now = reactor.clock().wall_now();
    std::vector<std::pair<std::string, Json>> changed;
    for (const std::string& ns : namespaces) {
      std::optional<Timestamp> next;
      reader.for_each(kBudgetGroup, kBudgets, ns, [&](const Json& budget) {
        std::optional<Timestamp> recount;
        Json status = budget_status(reader, kinds, budget, now, recount);
        if (recount && (!next || *recount < *next)) next = recount;
        if (semantic_equal(status, member(budget, "status"))) return;
        Json object = budget;
        object["status"] = std::move(status);
        changed.emplace_back(ns + "/" + text_of(member(budget, "metadata"), "name"), std::move(object));
      });
      if (next) later(ns, *next - now);
    }
    for (auto& [key, object] : changed) store.put(table, key, std::move(object));
  }

  // One timer is enough: each count finds the next time itself, and namespaces without an evicted pod do not change.
  void later(const std::string& ns, Duration wait) {
    again = reactor.after(wait + kBudgetDelay, [this, ns] {
      for (const auto& [key, object] : store.objects(table)) mark(key.substr(0, key.find('/')));
      mark(ns);
    });
  }
};

BudgetKeeper::BudgetKeeper(Reactor& reactor, Store& store, const ObjectReader& reader, const KindRegistry& kinds)
    : state_(std::make_unique<State>(reactor, store, reader, kinds)) {}
BudgetKeeper::~BudgetKeeper() = default;

}  // namespace dra::apiserver
