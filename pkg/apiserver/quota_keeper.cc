#include "pkg/apiserver/quota_keeper.h"

#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/quota/quota.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr std::chrono::milliseconds kQuotaDelay{20};
const char* const kQuotaTable = "resourcequotas";

}  // namespace

struct QuotaKeeper::State {
  Reactor& reactor;
  Store& store;
  const ObjectReader& reader;
  const KindRegistry& kinds;
  std::map<std::string, uint64_t> listeners;  // by table
  std::set<std::string> dirty;                // namespaces
  Handle due;

  State(Reactor& reactor_in, Store& store_in, const ObjectReader& reader_in, const KindRegistry& kinds_in)
      : reactor(reactor_in), store(store_in), reader(reader_in), kinds(kinds_in) {
    for (const auto& kind : kinds.kinds()) {
      if (!kind->info().namespaced) continue;
      const std::string table = table_of(kind->info());
      const bool quotas = kind->info().group.empty() && kind->info().plural == kQuotaTable;
      listeners[table] = store.listen(table, [this, quotas](const ChangePtr& change) { note(*change, quotas); });
      if (!quotas) continue;
      for (const auto& [key, object] : store.objects(table)) mark(key.substr(0, key.find('/')));
    }
  }
  ~State() {
    for (const auto& [table, id] : listeners) store.unlisten(table, id);
  }

  void note(const Change& change, bool quotas) {
    const std::string ns = change.key.substr(0, change.key.find('/'));
    if (quotas || has_quotas(ns)) mark(ns);
  }

  bool has_quotas(const std::string& ns) const {
    bool found = false;
    reader.for_each("", kQuotaTable, ns, [&](const Json&) { found = true; });
    return found;
  }

  void mark(const std::string& ns) {
    dirty.insert(ns);
    if (dirty.size() == 1) due = reactor.after(kQuotaDelay, [this] { count(); });
  }

  void count() {
    const std::set<std::string> namespaces = std::exchange(dirty, {});
    std::vector<std::pair<std::string, Json>> changed;
    for (const std::string& ns : namespaces) {
      reader.for_each("", kQuotaTable, ns, [&](const Json& quota) {
        Json status = quota_status(reader, kinds, quota);
        if (semantic_equal(status, member(quota, "status"))) return;
        Json object = quota;
        object["status"] = std::move(status);
        changed.emplace_back(ns + "/" + text_of(member(quota, "metadata"), "name"), std::move(object));
      });
    }
    const std::string table = table_of(kinds.find({"", "v1"}, kQuotaTable)->info());
    for (auto& [key, object] : changed) store.put(table, key, std::move(object));
  }
};

QuotaKeeper::QuotaKeeper(Reactor& reactor, Store& store, const ObjectReader& reader, const KindRegistry& kinds)
    : state_(std::make_unique<State>(reactor, store, reader, kinds)) {}
QuotaKeeper::~QuotaKeeper() = default;

}  // namespace dra::apiserver
