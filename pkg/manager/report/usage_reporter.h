// UsageReporter: keeps the ledger of who used what (pkg/usage) while this manager leads, writes its totals into one
// ConfigMap, and serves them as metrics.
//
// At the start of a term it reads the object, goes through all claims in pieces, and writes the object; from then on
// once a minute, at exactly the version that it read or wrote last. What is served as totals is what was written last:
// so they never go down, whoever leads, and a new leader begins with what the last one served. What has never been
// written is served as 0 from its first claim on, so that no Prometheus misses its first minute. "Held now" is of now.
//
// A write that finds another version means that somebody else counts, or that an answer was lost: the object is read
// again, and unless it is what this process wrote, everything begins anew from it. Text that cannot be read is left as
// it is, and nothing is counted until somebody has removed or mended it. Without the permissions (role "usage") nothing
// is counted; they are looked at again each minute.
//
// At most one request is under way. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/rest/rest_client.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/manager/options.h"
#include "pkg/metrics/metrics.h"
#include "pkg/reactor/reactor.h"
#include "pkg/reconcile/view.h"
#include "pkg/usage/claim_uses.h"

namespace dra::manager {

// The metrics of usage.
class UsageMetrics {
 public:
  explicit UsageMetrics(metrics::Registry& registry);
  // What was written.
  void serve_totals(const usage::Record& record);
  // What is held now; the record may have labels that were never written.
  void serve_held(const usage::Record& record);
  void clear();

 private:
  void serve(const usage::Record* now);

  std::optional<usage::Record> written_;
  usage::Record shown_;  // whose labels the totals have now
  metrics::Table& device_seconds_;
  metrics::Table& card_seconds_;
  metrics::Table& share_seconds_;
  metrics::Table& devices_;
  metrics::Table& cards_;
  metrics::Table& as_of_;
};

class UsageReporter {
 public:
  static constexpr Duration kPeriod = std::chrono::minutes(1);
  static constexpr Duration kRetry = std::chrono::seconds(5);
  static constexpr size_t kClaimsAPiece = 500;

  // Everything must outlive this. `why_not`: why the object may not be written; empty: it may.
  UsageReporter(Reactor& reactor, client::RestClient& client, metrics::Registry& registry,
                const inventory::Inventory& inventory, const reconcile::View& view, const ManagerOptions& options,
                std::function<std::string()> why_not);

  // A term begins: the stores are up to date.
  void start();
  // It is over. No write begins any more; one that is under way may still take effect.
  void stop();
  // Writes once more, while this process still leads; busy() until it is answered. stop() follows.
  void finish();
  bool busy() const { return last_write_under_way_; }
  // Why usage is not counted, or not written; empty: it is, or it is switched off.
  const std::string& trouble() const { return trouble_; }

  // Call after each change of a claim.
  void changed(const api::ResourceClaim* before, const api::ResourceClaim* after);
  // Before a scrape.
  void show();

 private:
  int64_t now() const;
  int64_t at(Timestamp time) const;
  void later(Duration delay, void (UsageReporter::*step)());
  void begin();
  void read();
  void read_answered(Result<std::string> answer);
  void restore(const std::string& object);
  void walk();
  void hold(const api::ResourceClaim& claim);
  void write();
  void send(client::RestClient::Done done);
  void write_answered(Result<std::string> answer);
  // Whether the object is what this process sent last.
  bool is_ours(const std::string& object);
  void complain(const Error& error, const char* what);

  Reactor& reactor_;
  client::RestClient& client_;
  const inventory::Inventory& inventory_;
  const reconcile::View& view_;
  const ManagerOptions& options_;
  const std::function<std::string()> why_not_;
  UsageMetrics metrics_;
  usage::Weigher weigher_;
  usage::ClaimFacts facts_;

  bool running_ = false;
  // The line of the ledger's times: the wall clock's at the start of the term, then the monotonic clock's.
  WallTime begun_at_{};
  MonoTime begun_mono_{};
  std::unique_ptr<usage::Ledger> ledger_;  // null: nothing is counted
  Timestamp since_;                        // counting began
  std::string walked_;                     // the key of the last claim that was looked at
  std::string version_;                    // resourceVersion of the object; empty: there is none yet
  usage::Record sent_;                     // by the last write
  std::string trouble_;                    // the last complaint, so that it is logged once
  Handle timer_, call_, last_call_;
  bool last_write_under_way_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::manager
