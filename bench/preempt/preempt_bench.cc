// Whose place a waiting pod, or a group of 64, could take on 5,000 nodes of 8 GPUs with 30,000 running pods.
//
//   build/release/bin/preempt_bench [ROUNDS]
//   build/release/bin/preempt_bench --mix [FLEETS]
//
// Prints the least, the median and the longest CPU time of ROUNDS (5) rounds for each question about the fleet of
// fleet.h; then what the manager takes for questions about one pod, all that it reads for them included, 2,000 budgets
// of 200 namespaces among it; and what these budgets take.
//
// --mix: of FLEETS (5) such fleets, drawn anew, 40 random questions each: how many are undecided, and how long they
// take. All limits are CPU time, so that verdicts do not depend on what else the machine does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bench/preempt/fleet.h"

namespace dra::preempt {
namespace {

constexpr Question kQuestions[] = {
    {"1 GPU", 1, 1, 1, 1000},
    {"2 GPUs", 1, 2, 1, 1000},
    {"4 GPUs", 1, 4, 1, 1000},
    {"4 GPUs of a NUMA node", 1, 4, 1, 1000, true},
    {"8 GPUs", 1, 8, 1, 3000},
    {"8 GPUs, low priority", 1, 8, 1, 100},
    {"9 GPUs, never", 1, 9, 1, 3000},
    {"no GPU, 60 CPUs", 1, 0, 60, 3000},
    {"group of 64 x 1 GPU", kGroup, 1, 1, 1000},
    {"group of 64 x 4 GPUs", kGroup, 4, 1, 3000},
};

constexpr const char* kVerdicts[] = {"fits", "wait", "evict", "never", "undecided"};

double milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Prints one line; `ask` makes the answer and returns the time.
template <class Ask>
void measure(const std::string& name, int rounds, const Ask& ask) {
  std::vector<double> times;
  Answer answer;
  for (int i = 0; i < rounds; ++i) times.push_back(milliseconds(ask(answer)));
  std::sort(times.begin(), times.end());
  std::printf("%-32s %-10s %5zu %7llu %9.1f %9.1f %9.1f\n", name.c_str(), kVerdicts[static_cast<int>(answer.verdict)],
              answer.pods.size(), static_cast<unsigned long long>(answer.checks), times.front(),
              times[times.size() / 2], times.back());
  std::fflush(stdout);
}

void run(int rounds) {
  Fleet fleet(1);
  std::printf("%-32s %-10s %5s %7s %9s %9s %9s ms\n", "question", "verdict", "pods", "checks", "least", "median",
              "most");
  for (const Question& question : kQuestions)
    measure(question.name, rounds, [&](Answer& answer) {
      const Duration begun = thread_processor_time();
      answer = fleet.ask(question);
      return thread_processor_time() - begun;
    });
  for (const Question& question : kQuestions)
    if (question.pods == 1 && !question.one_numa_node)
      measure("manager: " + std::string(question.name), rounds, [&](Answer& answer) {
        Duration took;
        std::tie(answer, took) = fleet.ask_of_view(question);
        return took;
      });
  measure("2,000 budgets", rounds, [&](Answer& answer) {
    const Duration begun = thread_processor_time();
    answer.checks = fleet.read_budgets();
    return thread_processor_time() - begun;
  });
}

// What has been asked of a kind.
struct Asked {
  const char* name;
  int undecided = 0;
  std::vector<double> times;

  void print() {
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    std::printf("%-24s %5zu asked %4d undecided; %8.1f ms median %8.1f p99 %8.1f most\n", name, times.size(), undecided,
                times[times.size() / 2], times[times.size() * 99 / 100], times.back());
  }
};

Question random_question(SeededRandom& random) {
  static constexpr int kGroups[] = {1, 1, 1, 1, 2, 8, 32, 64}, kAsked[] = {0, 1, 1, 2, 2, 4, 4, 8};
  static constexpr int kOwn[] = {50, 400, 1000, 3000};
  Question question{"", kGroups[random.below(8)], kAsked[random.below(8)], 1, kOwn[random.below(4)]};
  if (question.gpus == 0) question.cpu = static_cast<int>(20 + random.below(40));
  question.one_numa_node = question.gpus > 1 && question.gpus <= 4 && random.below(4) == 0;
  return question;
}

void run_mix(int fleets) {
  Asked one{"one pod"}, group{"group of 2 to 64"};
  for (int seed = 1; seed <= fleets; ++seed) {
    Fleet fleet(static_cast<uint64_t>(seed));
    SeededRandom random(static_cast<uint64_t>(seed));
    for (int i = 0; i < 40; ++i) {
      const Question question = random_question(random);
      const Duration begun = thread_processor_time();
      const Answer answer = fleet.ask(question);
      const double time = milliseconds(thread_processor_time() - begun);
      Asked& asked = question.pods == 1 ? one : group;
      asked.times.push_back(time);
      if (answer.verdict == Verdict::kUndecided) ++asked.undecided;
      if (answer.verdict == Verdict::kUndecided || time > 1000)
        std::printf("fleet %d: %d x %d GPUs%s, %d CPUs, priority %d: %s, %zu pods, %lld violations, %.0f ms\n", seed,
                    question.pods, question.gpus, question.one_numa_node ? " of a NUMA node" : "", question.cpu,
                    question.priority, kVerdicts[static_cast<int>(answer.verdict)], answer.pods.size(),
                    static_cast<long long>(answer.harm.violations), time);
      std::fflush(stdout);
    }
  }
  one.print();
  group.print();
}

}  // namespace
}  // namespace dra::preempt

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--mix") == 0) {
    dra::preempt::run_mix(argc > 2 ? std::max(1, std::atoi(argv[2])) : 5);
    return 0;
  }
  dra::preempt::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 5);
}
