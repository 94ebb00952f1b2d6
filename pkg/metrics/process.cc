#include "pkg/metrics/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "pkg/metrics/metrics.h"

namespace dra::metrics {
namespace {

struct ProcessFigures {
  double cpu_seconds = 0;
  double start_ticks = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double threads = 0;
  double open_fds = 0;
};

// proc(5): the fields of stat after the command, which is in parentheses and may contain anything.
ProcessFigures read_process() {
  ProcessFigures out;
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  auto close = line.rfind(')');
  if (close != std::string::npos) {
    std::istringstream fields(line.substr(close + 1));
    std::string word;
    double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    for (int number = 3; fields >> word; ++number) {
      double value = std::strtod(word.c_str(), nullptr);
      if (number == 14 || number == 15) out.cpu_seconds += value / ticks;
      if (number == 20) out.threads = value;
      if (number == 22) out.start_ticks = value / ticks;
      if (number == 23) out.virtual_bytes = value;
      if (number == 24) out.resident_bytes = value * static_cast<double>(sysconf(_SC_PAGESIZE));
    }
  }
  if (DIR* dir = opendir("/proc/self/fd")) {
    while (readdir(dir) != nullptr) ++out.open_fds;
    closedir(dir);
    out.open_fds -= 3;  // ".", ".." and the directory itself
  }
  return out;
}

double boot_time() {
  std::ifstream stat("/proc/stat");
  std::string word;
  while (stat >> word) {
    if (word == "btime") {
      double seconds = 0;
      stat >> seconds;
      return seconds;
    }
  }
  return 0;
}

double max_fds() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<double>::infinity()
                                         : static_cast<double>(limit.rlim_cur);
}

}  // namespace

void register_process_metrics(Registry& registry) {
  auto& cpu = registry.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
  auto& resident = registry.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
  auto& virt = registry.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
  auto& fds = registry.gauge("process_open_fds", "Number of open file descriptors.");
  auto& threads = registry.gauge("process_threads", "Number of threads of the process.");
  registry.gauge("process_max_fds", "Maximum number of open file descriptors.").set(max_fds());
  registry.gauge("process_start_time_seconds", "Start time of the process since the Unix epoch in seconds.")
      .set(boot_time() + read_process().start_ticks);
  registry.before_collect([&] {
    ProcessFigures now = read_process();
    if (now.cpu_seconds > cpu.value()) cpu.increment(now.cpu_seconds - cpu.value());
    resident.set(now.resident_bytes);
    virt.set(now.virtual_bytes);
    fds.set(now.open_fds);
    threads.set(now.threads);
  });
}

}  // namespace dra::metrics
