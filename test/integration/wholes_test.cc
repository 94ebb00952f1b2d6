// Groups of groups that compete for devices while the manager is killed: a head and its workers all together or not at
// all.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::wholes_test {

using namespace std::chrono_literals;

constexpr const char* kGroups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";

class Wholes {
 public:
  Wholes(Cluster& cluster, bool bind) : cluster_(cluster), bind_(bind) {}

  // A head, which has the policy basic, and groups of workers; `needed` of these groups together.
  void add(const std::string& name, const std::vector<size_t>& workers, size_t needed) {
    group(name, 0, {{"dra-controller-manager/min-groups", std::to_string(needed)}});
    Parts parts;
    for (size_t g = 0; g <= workers.size(); ++g) {
      const std::string part = name + "-" + std::to_string(g);
      const size_t size = g == 0 ? 1 : workers[g - 1];
      group(part, g == 0 ? 0 : size, {{"dra-controller-manager/parent-group", name}});
      std::vector<std::string>& pods = parts.emplace_back();
      for (size_t i = 0; i < size; ++i) {
        pods.push_back(part + "-" + std::to_string(i));
        member(pods.back(), part);
      }
    }
    wholes_[name] = {std::move(parts), needed};
  }
  // What is wrong at this moment, or empty.
  std::string look() {
    for (auto& [name, whole] : wholes_) {
      if (whole.cleared) continue;
      size_t started = 0, complete = 0;
      for (const std::vector<std::string>& pods : whole.parts) {
        size_t bound = 0, ready = 0;
        for (const std::string& pod : pods) {
          const auto known = cluster_.watchdog().pod("default/" + pod);
          if (!known) continue;
          const bool here = !known->node_name.empty();
          bound += here;
          const auto claim = cluster_.watchdog().claim("default/" + pod);
          ready += here || (claim && claim->status.allocation);
        }
        started += bound;
        complete += ready == pods.size();
        if (bound > 0 && ready < pods.size()) return name + ": a part of a group has started";
      }
      if (started > 0 && complete < whole.needed && !whole.launched)
        return name + ": " + std::to_string(started) + " started, and only " + std::to_string(complete) +
               " groups are complete";
      size_t all = 0, total = 0;
      for (const std::vector<std::string>& pods : whole.parts)
        for (const std::string& pod : pods) {
          ++total;
          const auto known = cluster_.watchdog().pod("default/" + pod);
          all += known && !known->node_name.empty();
        }
      whole.launched = whole.launched || (complete >= whole.needed && started > 0);
      whole.ran = whole.ran || all == total;
    }
    return "";
  }
  size_t ran() const {
    size_t count = 0;
    for (const auto& [name, whole] : wholes_) count += whole.ran;
    return count;
  }
  // One that ran makes room.
  void clear() {
    for (auto& [name, whole] : wholes_) {
      if (!whole.ran || std::exchange(whole.cleared, true)) continue;
      for (const std::vector<std::string>& pods : whole.parts)
        for (const std::string& pod : pods) {
          cluster_.api().remove_now(Api::path("Pod", pod));
          cluster_.api().remove(Api::path("ResourceClaim", pod));
        }
    }
  }

 private:
  using Parts = std::vector<std::vector<std::string>>;
  struct Whole {
    Parts parts;
    size_t needed = 0;
    bool launched = false, ran = false, cleared = false;
  };

  void group(const std::string& name, size_t min_count, const std::map<std::string, std::string>& annotations) {
    const Json policy = min_count == 0 ? Json{{"basic", Json::object()}} : Json{{"gang", {{"minCount", min_count}}}};
    const Json made{{"apiVersion", "scheduling.k8s.io/v1alpha2"},
                    {"kind", "PodGroup"},
                    {"metadata", {{"name", name}, {"annotations", annotations}}},
                    {"spec", {{"schedulingPolicy", policy}}}};
    const Answer answer = cluster_.api().call("POST", kGroups, made.dump());
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  void member(const std::string& name, const std::string& part) {
    cluster_.api().create(claim(name));
    PodOptions options;
    options.run_seconds = 100'000;
    options.gated = !bind_;
    if (bind_) options.scheduler = "dra";
    Json made = pod(name, {from_claim("gpu", name)}, options);
    made["spec"]["schedulingGroup"] = {{"podGroupName", part}};
    cluster_.api().create(made);
  }

  Cluster& cluster_;
  const bool bind_;
  std::map<std::string, Whole> wholes_;
};

void contend(bool bind, bool kills, uint64_t seed) {
  ClusterOptions options;
  options.embedded = options.pod_groups = true;
  options.components.scheduler_allocates = false;
  options.seed = seed;
  Cluster cluster(options);  // 16 devices
  const auto process = [&] {
    ProcessOptions chosen;
    chosen.manager = Cluster::manager_options();
    if (bind) {
      chosen.manager.settings.scheduling = reconcile::Scheduling::kBind;
      chosen.manager.settings.scheduler_names = {"dra"};
    }
    return chosen;
  };
  cluster.start("m0", process());
  Wholes wholes(cluster, bind);
  const size_t kWholes = kills ? 12 : 6;
  // With many of them, launched ones that wait for the rest of their groups could hold all devices.
  for (size_t i = 0; i < kWholes; ++i) wholes.add("w" + std::to_string(i), {2 + i % 3, 3}, kills || i % 2 == 0 ? 3 : 2);
  std::string wrong;
  size_t killed = 0;
  EXPECT_TRUE(cluster.eventually(
      [&] {
        if (wrong.empty()) wrong = wholes.look();
        wholes.clear();
        if (kills && killed < 40 && cluster.random().below(2) == 0) {
          cluster.kill("m" + std::to_string(killed));
          cluster.start("m" + std::to_string(++killed), process());
        }
        return wholes.ran() == kWholes || !wrong.empty();
      },
      20min))
      << wholes.ran() << " ran";
  EXPECT_EQ(wrong, "");
  if (kills) {
    EXPECT_GT(killed, 0u);
  }
}

TEST(Wholes, ContendInGateMode) {
  contend(false, false, 1);
}
TEST(Wholes, ContendInBindMode) {
  contend(true, false, 2);
}
TEST(Wholes, ContendWhileTheManagerIsKilled) {
  for (const uint64_t seed : seeds("DRA_WHOLE_SEEDS", 3)) contend(seed % 2 == 0, true, seed);
}

}  // namespace dra::integration::wholes_test
