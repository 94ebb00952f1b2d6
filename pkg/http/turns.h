// Turns: answers requests one at a time. Requests that together take less than a millisecond share a turn: what they
// add to a stream goes out in one piece. After a long request the reactor does other work for about a twentieth of that
// request's time. A stream is sent one TLS record per round of the reactor's queue: without a pause between two long
// requests a watch would get 16 KiB per request, fall behind and be cut off.
//
// Bounded by the number of connections, each with at most one request in progress. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace dra::http {

class Turns : public std::enable_shared_from_this<Turns> {
 public:
  using Task = std::function<void()>;
  using Now = std::function<std::chrono::nanoseconds()>;

  // `post` queues a task after everything that is ready to run.
  Turns(std::function<void(Task)> post, Now now) : post_(std::move(post)), now_(std::move(now)) {}

  // Runs the request in its turn, never from within this call.
  void add(Task request) {
    requests_.push_back(std::move(request));
    if (!posted_) post_next();
  }
  // Drops the waiting requests.
  void drop() { requests_.clear(); }

 private:
  static constexpr std::chrono::nanoseconds kOneRound = std::chrono::microseconds(2);  // a round without work
  static constexpr int64_t kMostRounds = 2'000;
  static constexpr std::chrono::nanoseconds kTurn = std::chrono::milliseconds(1);
  static constexpr std::chrono::nanoseconds kLong = std::chrono::milliseconds(4);

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
      if (!requests_.empty()) post_next();
      return;
    }
    const auto start = now_();
    std::chrono::nanoseconds took{};
    while (!requests_.empty() && took < kTurn) {
      const Task request = std::move(requests_.front());
      requests_.pop_front();
      if (!requests_.empty() && !posted_) post_next();  // before the request, which may throw
      request();
      took = now_() - start;
    }
    rounds_ = took < kLong ? 0 : std::clamp<int64_t>(took / (20 * kOneRound), 0, kMostRounds);
  }

  std::function<void(Task)> post_;
  Now now_;
  std::deque<Task> requests_;
  int64_t rounds_ = 0;  // rounds left for other work
  bool posted_ = false;
};

}  // namespace dra::http
