// Turns: requests are answered one at a time, and after one that took long the reactor works off other things for about
// a twentieth of that time first. A stream goes out in pieces of one TLS record, one in each round of the reactor's
// queue: without a pause between two long requests a watch would get 16 KiB per request, fall behind and be cut off.
//
// Bounded by the number of connections, each of which has at most one request under way. Not thread-safe.
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

  // `post` queues a task behind all that is ready to run.
  Turns(std::function<void(Task)> post, Now now) : post_(std::move(post)), now_(std::move(now)) {}

  // Runs the request when its turn comes, never from within this call.
  void add(Task request) {
    requests_.push_back(std::move(request));
    if (!posted_) post_next();
  }
  // Forgets the requests that wait.
  void drop() { requests_.clear(); }

 private:
  static constexpr std::chrono::nanoseconds kOneRound = std::chrono::microseconds(2);  // with nothing to do in it
  static constexpr int64_t kMostRounds = 2'000;

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
    if (requests_.empty()) return;
    const Task request = std::move(requests_.front());
    requests_.pop_front();
    if (!requests_.empty()) post_next();  // before the request, which may throw
    const auto start = now_();
    request();
    rounds_ = std::clamp<int64_t>((now_() - start) / (20 * kOneRound), 0, kMostRounds);
  }

  std::function<void(Task)> post_;
  Now now_;
  std::deque<Task> requests_;
  int64_t rounds_ = 0;  // that others still have
  bool posted_ = false;
};

}  // namespace dra::http
