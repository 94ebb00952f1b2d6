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
// Bounded by the number of connections, each with at most one request in progress. Not thread-safe.
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

  // `post` queues a task after everything that is ready to run; `lagging` says whether a stream has much to send.
  Turns(std::function<void(Task)> post, Now now, std::function<bool()> lagging)
      : post_(std::move(post)), now_(std::move(now)), lagging_(std::move(lagging)) {}

  // Runs the request in its turn, never from within this call.
  void add(Task request, std::string_view flow = {}) {
    Queue& queue = queues_[std::hash<std::string_view>()(flow) % kQueues];
    // Time that a queue left unused earlier is not saved up.
    if (queue.requests.empty()) queue.used = std::max(queue.used, served_);
    queue.requests.push_back({std::move(request), ++arrivals_});
    ++waiting_;
    if (!posted_) post_next();
  }
  // Drops the waiting requests.
  void drop() {
    for (Queue& queue : queues_) queue.requests.clear();
    waiting_ = 0;
  }

 private:
  static constexpr size_t kQueues = 64;
  static constexpr std::chrono::nanoseconds kOneRound = std::chrono::microseconds(2);  // a round without work
  static constexpr int64_t kMostRounds = 2'000;
  static constexpr int64_t kLagRounds = 32;
  static constexpr std::chrono::nanoseconds kTurn = std::chrono::milliseconds(1);
  static constexpr std::chrono::nanoseconds kLong = std::chrono::milliseconds(4);

  struct Request {
    Task run;
    uint64_t arrival = 0;
  };
  struct Queue {
    std::deque<Request> requests;
    std::chrono::nanoseconds used{};
  };

  void post_next() {
    posted_ = true;
    post_([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->next();
    });
  }

  void next() {
    posted_ = false;
    if (rounds_ > 0) {
      --rounds_;
      if (waiting_ > 0) post_next();
      return;
    }
    const auto start = now_();
    std::chrono::nanoseconds took{};
    while (waiting_ > 0 && took < kTurn) {
      Queue& queue = least_used();
      const Task request = std::move(queue.requests.front().run);
      queue.requests.pop_front();
      --waiting_;
      served_ = queue.used;
      if (waiting_ > 0 && !posted_) post_next();  // before the request, which may throw
      request();
      const auto until_now = now_() - start;
      queue.used += until_now - took;
      took = until_now;
    }
    rounds_ = took < kLong ? 0 : std::clamp<int64_t>(took / (20 * kOneRound), 0, kMostRounds);
    if (lagging_()) rounds_ = std::max(rounds_, kLagRounds);
  }

  // Among the queues with requests; of equal ones, that of the request that came first.
  Queue& least_used() {
    Queue* least = nullptr;
    for (Queue& queue : queues_) {
      if (queue.requests.empty()) continue;
      if (least == nullptr || queue.used < least->used ||
          (queue.used == least->used && queue.requests.front().arrival < least->requests.front().arrival)) {
        least = &queue;
      }
    }
    return *least;
  }

  std::function<void(Task)> post_;
  Now now_;
  std::function<bool()> lagging_;
  std::array<Queue, kQueues> queues_;
  std::chrono::nanoseconds served_{};  // what the queue of the last request had used before it
  uint64_t arrivals_ = 0;
  size_t waiting_ = 0;
  int64_t rounds_ = 0;  // rounds left for other work
  bool posted_ = false;
};

}  // namespace dra::http
