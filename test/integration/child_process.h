// ChildProcess: a program that a test starts, with its output in a file; it never outlives the test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "pkg/base/error.h"

namespace dra::integration {

class ChildProcess {
 public:
  // The program's output goes to `log`. Errors name the program: it is missing or cannot be run.
  static Result<ChildProcess> start(const std::string& program, const std::vector<std::string>& arguments,
                                    const std::string& log);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // SIGTERM; SIGKILL if it still runs after three seconds.
  ~ChildProcess();

  // Empty while it runs; afterwards how it ended ("etcd ended with exit code 1") and the end of its output.
  std::string ended();
  // The last lines of its output.
  std::string output() const;
  pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, std::string program, std::string log)
      : pid_(pid), program_(std::move(program)), log_(std::move(log)) {}
  // Takes the exit status if there is one; true if it has ended.
  bool reap();

  pid_t pid_;
  std::string program_;
  std::string log_;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace dra::integration
