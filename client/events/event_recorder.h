// EventRecorder: writes events (events.k8s.io/v1) about objects.
//
// Equal events (same object, type, reason, action and note) within 6 minutes form a series: the first is created, the
// second makes it a series of 2, later ones only increase the count. A continuing series is written again every 30
// minutes, and once more after 6 minutes of silence. Each object has a budget of 25 events, refilled by one every 5
// minutes. Events are sent round-robin by namespace, warnings first. Queue, remembered series and retries are bounded:
// a full queue drops and counts the oldest event of the namespace with the most events, normal ones first.
//
// Belongs to the reactor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>

#include "client/rest/rest_client.h"
#include "pkg/base/fair_line.h"
#include "pkg/base/random.h"

namespace dra::client {

struct EventObject {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
};

struct EventRequest {
  EventObject regarding;
  bool warning = false;
  std::string reason;  // upper camel; cut to 128 bytes
  std::string action;  // what was done; required by the API, so empty becomes the reason
  std::string note;    // cut to 1024 bytes
};

struct RecorderOptions {
  std::string controller = "dra-controller-manager";
  std::string instance;  // "<controller>-<hostname>"
  size_t max_queued = 1000;
  size_t max_series = 1024;
  size_t max_in_flight = 1;  // events may be late, pods should not
  int budget_burst = 25;
  Duration budget_refill = std::chrono::minutes(5);
  Duration series_silence = std::chrono::minutes(6);
  Duration series_refresh = std::chrono::minutes(30);
  int max_tries = 12;
  Duration retry_delay = std::chrono::seconds(10);
};

struct RecorderStats {
  uint64_t sent = 0;
  uint64_t counted = 0;  // added to a series in memory only
  uint64_t over_budget = 0;
  uint64_t dropped = 0;  // queue full, retries used up, or the server refused
};

class EventRecorder {
 public:
  // Everything must outlive the recorder.
  EventRecorder(Reactor& reactor, RestClient& client, Random& random, RecorderOptions options);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // False: the event was dropped at a limit; the caller may record it again.
  bool record(const EventRequest& event);
  // Writes what is queued now; calls `done` once it is written or `limit` has passed. For a graceful stop.
  void flush(Duration limit, std::function<void()> done);

  const RecorderStats& stats() const { return stats_; }
  size_t queued() const { return queue_.size(); }

 private:
  struct Series;
  struct Budget {
    double tokens = 0;
    MonoTime filled{};
    uint64_t used = 0;  // its key in budgets_by_use_
  };
  using SeriesPtr = std::shared_ptr<Series>;

  bool within_budget(const EventObject& object);
  // Frees an entry for one more series; false if all known series are still to be sent.
  bool make_room();
  void enqueue(const SeriesPtr& series);
  void pump();
  void send(const SeriesPtr& series);
  void answered(const SeriesPtr& series, const Result<std::string>& answer);
  void tick();
  void record_refusal(const Error& error);
  void drop(const SeriesPtr& series);
  void check_flushed();

  Reactor& reactor_;
  RestClient& client_;
  Random& random_;
  RecorderOptions options_;
  RecorderStats stats_;
  // Of what outlives a burst: small, long-lived pieces between those of short-lived objects would keep whole pages.
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::map<std::string_view, SeriesPtr> series_{&pool_};  // by the key that each has
  std::pmr::unordered_map<uint64_t, Budget> budgets_{&pool_};  // by hash: two objects may share one
  std::pmr::map<uint64_t, uint64_t> budgets_by_use_{&pool_};   // the number of the last use -> key: the oldest first
  uint64_t budget_uses_ = 0;
  FairLine<> queue_;  // of keys of series_
  size_t in_flight_ = 0;
  Handle answered_call_;
  std::optional<MonoTime> refusal_recorded_;
  Handle ticker_;
  Handle flush_timer_;
  std::function<void()> flushed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::client
