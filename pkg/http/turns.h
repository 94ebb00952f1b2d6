// Turns: answers requests one at a time, with equal time for each flow (a namespace, for an API server): a flow whose
// requests are long or many does not delay the others by more than the request in progress. Flows are spread over a
// fixed number of queues by hash; each queue answers in the order of arrival, and the next request is that of the queue
// that has used least time (start-time fair queueing).
//
// Requests that together take less than a millisecond share a turn: what they add to a stream goes out in one piece.
// After a long request the reactor does other work for about a twentieth of that request's time. A stream is sent one
// TLS record per round of the reactor's queue: without a pause between two long requests a watch would get 16 KiB per
// request, fall behind and be cut off. For the same reason the pause lasts kLagRounds at least while a stream lags:
// short requests, too, can each add many records to it.
//
// Streams have three times as much time as requests while both have work: portions of streams that go on have queues of
// their own, which are served first until streams have had that time, and a pause lasts until then while a stream lags.
// Otherwise changes of large objects would outrun a watch that is read: it would be cut off, and its client would have
// to list again. Each change is encoded and sent once more for a watch, and parsed when the watch is behind: a deletion
// takes less than a watch takes for it.
//
// Bounded by the number of connections, each with at most one request or portion in progress. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace dra::http {

class Turns : public std::enable_shared_from_this<Turns> {
 public:
  using Task = std::function<void()>;
  using Now = std::function<std::chrono::nanoseconds()>;

  // `post` queues a task after everything that is ready to run; `lagging` says whether a stream with much to send is
  // being read.
  Turns(std::function<void(Task)> post, Now now, std::function<bool()> lagging)
      : post_(std::move(post)), now_(std::move(now)), lagging_(std::move(lagging)) {}

  // Runs the request in its turn, never from within this call.
  void add(Task request, std::string_view flow = {}) {
    requests_.add(std::move(request), flow);
    if (!posted_) post_next();
  }
  // The same for a portion of a stream.
  void add_portion(Task portion, std::string_view flow = {}) {
    portions_.add(std::move(portion), flow);
    if (!posted_) post_next();
  }
  // Drops what waits.
  void drop() {
    requests_.drop();
    portions_.drop();
  }

 private:
  using Time = std::chrono::nanoseconds;

  static constexpr Time kOneRound = std::chrono::microseconds(2);  // a round without work
  static constexpr int64_t kMostRounds = 2'000;
  static constexpr int64_t kLagRounds = 32;
  static constexpr int64_t kShareOfStreams = 3;  // times as much time as requests
  static constexpr Time kTurn = std::chrono::milliseconds(1);
  static constexpr Time kLong = std::chrono::milliseconds(4);
  static constexpr Time kLongestRound = std::chrono::microseconds(100);  // for streams; the rest is other work
  static constexpr Time kMostDue = std::chrono::milliseconds(100);       // to streams, or to requests

  // The tasks of one kind, requests or portions, in the order described above.
  class Flows {
   public:
    void add(Task task, std::string_view flow) {
      Queue& queue = queues_[std::hash<std::string_view>()(flow) % queues_.size()];
      // Time that a queue left unused earlier is not saved up.
      if (queue.tasks.empty()) queue.used = std::max(queue.used, served_);
      queue.tasks.push_back({std::move(task), ++arrivals_});
      ++waiting_;
    }
    bool waiting() const { return waiting_ > 0; }
    void drop() {
      for (Queue& queue : queues_) queue.tasks.clear();
      waiting_ = 0;
    }
    struct Taken {
      Task run;
      Time* used;  // of its queue
    };
    Taken take() {
      Queue& queue = least_used();
      Taken taken{std::move(queue.tasks.front().run), &queue.used};
      queue.tasks.pop_front();
      --waiting_;
      served_ = queue.used;
      return taken;
    }

   private:
    struct Waiting {
      Task run;
      uint64_t arrival = 0;
    };
    struct Queue {
      std::deque<Waiting> tasks;
      Time used{};
    };

    // Among the queues with tasks; of equal ones, that of the task that came first.
    Queue& least_used() {
      Queue* least = nullptr;
      for (Queue& queue : queues_) {
        if (queue.tasks.empty()) continue;
        if (least == nullptr || queue.used < least->used ||
            (queue.used == least->used && queue.tasks.front().arrival < least->tasks.front().arrival)) {
          least = &queue;
        }
      }
      return *least;
    }

    std::array<Queue, 64> queues_;
    Time served_{};  // what the queue of the last task had used before it
    uint64_t arrivals_ = 0;
    size_t waiting_ = 0;
  };

  bool waiting() const { return requests_.waiting() || portions_.waiting(); }

  void post_next() {
    posted_ = true;
    post_([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->next();
    });
  }

  void next() {
    posted_ = false;
    if (portions_.waiting() && (streams_due_ > Time{} || !requests_.waiting())) return run_portion();
    if (rounds_ > 0 || (lagging_() && streams_due_ > Time{})) return pause();
    if (requests_.waiting()) run_requests();
  }

  void run_portion() {
    const auto start = now_();
    auto portion = portions_.take();
    const bool alone = !requests_.waiting();
    if (waiting()) post_next();  // before the portion, which may throw
    portion.run();
    paused_at_ = now_();
    *portion.used += paused_at_ - start;
    if (!alone) streams_due_ = std::max(streams_due_ - (paused_at_ - start), -kMostDue);
  }

  // A round for other work, such as sending what a stream has to send.
  void pause() {
    const auto now = now_();
    const Time round = std::min(now - std::exchange(paused_at_, now), kLongestRound);
    streams_due_ = std::max(streams_due_ - round, std::min(streams_due_, Time{}));
    rounds_ = std::max<int64_t>(rounds_ - 1, 0);
    if (waiting()) post_next();
  }

  void run_requests() {
    const auto start = now_();
    Time took{};
    if (!portions_.waiting() && !lagging_()) streams_due_ = {};  // time that streams left unused is not saved up
    while (requests_.waiting() && took < kTurn) {
      auto request = requests_.take();
      if (waiting() && !posted_) post_next();  // before the request, which may throw
      request.run();
      const auto until_now = now_() - start;
      *request.used += until_now - took;
      took = until_now;
    }
    rounds_ = took < kLong ? 0 : std::clamp<int64_t>(took / (20 * kOneRound), 0, kMostRounds);
    if (lagging_()) rounds_ = std::max(rounds_, kLagRounds);
    streams_due_ = std::min(streams_due_ + kShareOfStreams * took, kMostDue);
    paused_at_ = start + took;
  }

  std::function<void(Task)> post_;
  Now now_;
  std::function<bool()> lagging_;
  Flows requests_;
  Flows portions_;
  Time streams_due_{};  // what streams have had less than their share, while requests had work too
  Time paused_at_{};    // when the last task or round of a pause ended
  int64_t rounds_ = 0;  // rounds left for other work
  bool posted_ = false;
};

}  // namespace dra::http
