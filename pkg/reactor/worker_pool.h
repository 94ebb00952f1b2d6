// WorkerPool: a few threads that run pure functions. Internal to pkg/reactor; others use Reactor::offload().
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dra::reactor_internal {

class WorkerPool {
 public:
  explicit WorkerPool(int threads) : wanted_(threads < 1 ? 1 : threads) {}
  // Waits for what runs; drops what has not begun.
  ~WorkerPool();

  // Safe from any thread.
  void submit(std::function<void()> job);

 private:
  void work();

  int wanted_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace dra::reactor_internal
