// Whose place a waiting pod, or a group of 64, could take on 5,000 nodes of 8 GPUs with 30,000 running pods.
//
//   build/release/bin/preempt_bench [ROUNDS]
//   build/release/bin/preempt_bench --mix [FLEETS]
//
// Each node has six pods, with 1, 1, 1, 1, 2 and 2 GPUs, of random priorities and ages; 200 PodDisruptionBudgets cover
// half of them, and a third of these allow no eviction. Prints the least, the median and the longest CPU time of ROUNDS
// (5) rounds for each question. The last line is what it costs to read 2,000 budgets of 200 namespaces.
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
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/preempt/facts.h"
#include "pkg/preempt/preempt.h"

namespace dra::preempt {
namespace {

constexpr int kNodes = 5000;
constexpr int kGpus = 8;
constexpr int kBudgets = 200;
constexpr int kGroup = 64;
constexpr int kNamespaces = 200;
constexpr int kBudgetsToRead = 2000;
constexpr const char* kDriver = "gpu.example.com";
constexpr int kSizes[] = {1, 1, 1, 1, 2, 2};
constexpr int kPriorities[] = {0, 10, 10, 100, 500, 2000};

struct Question {
  const char* name;
  int pods;
  int gpus;  // of each
  int cpu;   // of each
  int priority;
  bool one_numa_node = false;
};

constexpr Question kQuestions[] = {
    {"1 GPU", 1, 1, 1, 1000},
    {"2 GPUs", 1, 2, 1, 1000},
    {"4 GPUs", 1, 4, 1, 1000},
    {"4 GPUs of a NUMA node", 1, 4, 1, 1000, true},
    {"8 GPUs", 1, 8, 1, 3000},
    {"8 GPUs, never", 1, 8, 1, 100},
    {"9 GPUs, never", 1, 9, 1, 3000},
    {"no GPU, 60 CPUs", 1, 0, 60, 3000},
    {"group of 64 x 1 GPU", kGroup, 1, 1, 1000},
    {"group of 64 x 4 GPUs", kGroup, 4, 1, 3000},
};

class CpuClock : public Clock {
 public:
  WallTime wall_now() const override { return {}; }
  MonoTime mono_now() const override { return MonoTime{thread_processor_time()}; }
};

class Fleet {
 public:
  explicit Fleet(uint64_t seed) : random_(seed) {
    world_ = std::make_unique<World>(World{inventory_, allocator_, cluster_, {}, {}, {}, {}, {}, {}, {}});
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors.push_back("device.driver == \"" + std::string(kDriver) + "\"");
    inventory_.apply_class(gpu);
    for (int n = 0; n < kNodes; ++n) add_node(n);
    for (int n = 0; n < kNodes; ++n) add_pods(n);
    add_budgets();
  }

  Answer ask(const Question& question) {
    const size_t pods = world_->pods.size(), claims = world_->claims.size();
    world_->pending.clear();
    for (int i = 0; i < question.pods; ++i) {
      world_->pending.push_back(static_cast<uint32_t>(world_->pods.size()));
      add_pod("train-" + std::to_string(i), question.priority, question.cpu, "", {}, question.gpus);
      world_->pods.back().shape = "train";
      if (question.pods > 1) world_->pods.back().group = 0;
      if (question.one_numa_node) limit_to_numa_node();
    }
    if (question.pods > 1) world_->groups.push_back({"ns/train", static_cast<uint32_t>(question.pods), false});
    const CpuClock clock;
    Options options;
    options.clock = &clock;
    options.time = std::chrono::seconds(5);
    Answer answer = who_must_go(*world_, options);
    world_->pods.resize(pods);
    world_->claims.resize(claims);
    world_->groups.clear();
    return answer;
  }

  // How many pods these budgets select, all together.
  size_t read_budgets() const {
    api::PodDisruptionBudget budget;
    budget.selector.emplace();
    size_t covered = 0;
    const PodsByNamespace pods(*world_);
    for (int i = 0; i < kBudgetsToRead; ++i) {
      budget.metadata.ns = "ns-" + std::to_string(i % kNamespaces);
      budget.selector->match_labels["app"] = std::to_string(i / kNamespaces);
      covered += budget_of(*world_, pods, budget).covers.size();
    }
    return covered;
  }

 private:
  static std::string node_name(int n) { return "node-" + std::to_string(n); }

  void add_node(int n) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = node_name(n);
    node->allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
    cluster_.set_node(node);
    inventory_.apply_node(std::shared_ptr<const api::Node>(node));
    api::ResourceSlice slice;
    slice.metadata.name = node_name(n);
    slice.driver = kDriver;
    slice.node_name = node_name(n);
    slice.pool = {node_name(n), 1, 1};
    for (int i = 0; i < kGpus; ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(i);
      device.attributes["uuid"] = node_name(n) + "/" + device.name;
      device.attributes["numa"] = int64_t{i / 4};
    }
    inventory_.apply_slice(slice);
  }

  void add_pods(int n) {
    int gpu = 0;
    for (const int size : kSizes) {
      std::vector<int> gpus;
      for (int i = 0; i < size; ++i) gpus.push_back(gpu++);
      const int priority = kPriorities[random_.below(std::size(kPriorities))];
      add_pod("p-" + std::to_string(world_->pods.size()), priority, 8, node_name(n), gpus, size);
      world_->pods.back().start = static_cast<int64_t>(1'700'000'000 + random_.below(10'000'000));
    }
  }

  void add_pod(const std::string& name, int priority, int cpu, const std::string& node, const std::vector<int>& held,
               int gpus) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = node.empty() ? "ns" : "ns-" + std::to_string(world_->pods.size() % kNamespaces);
    pod->metadata.labels["app"] = std::to_string(world_->pods.size() / kNamespaces % (kBudgetsToRead / kNamespaces));
    pod->metadata.name = name;
    pod->metadata.uid = "uid-" + name;
    pod->metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "uid-rs", true});
    pod->priority = priority;
    pod->node_name = node;
    pod->phase = node.empty() ? "Pending" : "Running";
    pod->containers.emplace_back().requests = {{"cpu", std::to_string(cpu)}, {"memory", "8Gi"}};
    Pod& out = world_->pods.emplace_back();
    if (gpus > 0) {
      out.claims.push_back(static_cast<uint32_t>(world_->claims.size()));
      add_claim(*pod, held, gpus);
    }
    if (!node.empty()) cluster_.set_pod(*pod, node, false);
    out.object = std::move(pod);
  }

  void add_claim(const api::Pod& pod, const std::vector<int>& held, int gpus) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = pod.metadata.ns;
    claim->metadata.name = pod.metadata.name + "-gpu";
    claim->metadata.uid = "uid-" + claim->metadata.name;
    api::DeviceSubRequest exactly;
    exactly.device_class_name = "gpu";
    exactly.allocation_mode = "ExactCount";
    exactly.count = gpus;
    claim->spec.requests.push_back({"gpu", exactly, {}});
    if (!held.empty()) {
      auto& allocation = claim->status.allocation.emplace();
      for (const int gpu : held)
        allocation.results.push_back({"gpu", kDriver, pod.node_name, "gpu-" + std::to_string(gpu)});
      api::NodeSelectorTerm term;
      term.match_fields.push_back({"metadata.name", "In", {pod.node_name}});
      allocation.node_selector.emplace().terms.push_back(term);
      claim->status.reserved_for.push_back({"", "pods", pod.metadata.name, pod.metadata.uid});
    }
    inventory_.apply_claim(*claim);
    world_->claims.push_back(std::move(claim));
  }

  void limit_to_numa_node() {
    auto claim = std::make_shared<api::ResourceClaim>(*world_->claims.back());
    claim->spec.constraints.push_back({{"gpu"}, std::string(kDriver) + "/numa"});
    world_->claims.back() = std::move(claim);
  }

  void add_budgets() {
    world_->budgets.resize(kBudgets);
    for (int i = 0; i < kBudgets; ++i) {
      world_->budgets[i].name = "ns/b" + std::to_string(i);
      world_->budgets[i].allowed = i % 3;
    }
    for (uint32_t pod = 0; pod < world_->pods.size(); pod += 2) {
      Budget& budget = world_->budgets[pod / 2 % kBudgets];
      budget.covers.push_back(pod);
      budget.pods.push_back(pod);
    }
  }

  inventory::Inventory inventory_{inventory::Features::all()};
  placement::Cluster cluster_;
  SeededRandom random_;
  allocator::Allocator allocator_{inventory_, {}, random_};
  std::unique_ptr<World> world_;
};

constexpr const char* kVerdicts[] = {"fits", "wait", "evict", "never", "undecided"};

double milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void run(int rounds) {
  Fleet fleet(1);
  std::printf("%-24s %-10s %5s %7s %9s %9s %9s ms\n", "question", "verdict", "pods", "checks", "least", "median",
              "most");
  for (const Question& question : kQuestions) {
    std::vector<double> times;
    Answer answer;
    for (int i = 0; i < rounds; ++i) {
      const Duration begun = thread_processor_time();
      answer = fleet.ask(question);
      times.push_back(milliseconds(thread_processor_time() - begun));
    }
    std::sort(times.begin(), times.end());
    std::printf("%-24s %-10s %5zu %7llu %9.1f %9.1f %9.1f\n", question.name,
                kVerdicts[static_cast<int>(answer.verdict)], answer.pods.size(),
                static_cast<unsigned long long>(answer.checks), times.front(), times[times.size() / 2], times.back());
    std::fflush(stdout);
  }
  std::vector<double> times;
  size_t covered = 0;
  for (int i = 0; i < rounds; ++i) {
    const Duration begun = thread_processor_time();
    covered = fleet.read_budgets();
    times.push_back(milliseconds(thread_processor_time() - begun));
  }
  std::sort(times.begin(), times.end());
  std::printf("%-24s %-10s %5zu %7s %9.1f %9.1f %9.1f\n", "2,000 budgets", "read", covered, "-", times.front(),
              times[times.size() / 2], times.back());
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
