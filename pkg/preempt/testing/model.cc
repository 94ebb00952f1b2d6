#include "pkg/preempt/testing/model.h"

#include <algorithm>

#include "pkg/base/random.h"

namespace dra::preempt::testing {
namespace {

constexpr int kSlices = 4;
constexpr int kGibOfSlice = 6;
constexpr int kGibOfCard = 24;

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : random_(seed) {}

  Model draw() {
    m_.kind = chance(40) ? Kind::kMoves : Kind::kVictims;
    draw_nodes();
    draw_groups();
    const size_t pods = static_cast<size_t>(between(3, 8));
    for (int tries = 0; tries < 16 && m_.pods.size() < pods; ++tries) draw_running();
    share_claims();
    draw_pending(m_.pending, between(0, 5) == 0);
    draw_budgets();
    if (chance(35)) draw_promises();
    if (m_.kind == Kind::kMoves && chance(20)) m_.max_moves = between(0, 3);
    return std::move(m_);
  }

 private:
  bool chance(unsigned percent) { return random_.below(100) < percent; }
  int between(int low, int high) {
    return low + static_cast<int>(random_.below(static_cast<uint64_t>(high - low + 1)));
  }
  int priority() { return std::vector<int>{0, 0, 0, 10, 10, 50, 50, 200}[random_.below(8)]; }

  void draw_nodes() {
    const int nodes = between(1, 3);
    const auto all = static_cast<DeviceKind>(random_.below(3));
    const bool mixed = chance(30);
    for (int node = 0; node < nodes; ++node) {
      m_.cpu.push_back(between(4, 9));
      m_.cordoned.push_back(chance(8));
      const auto kind = mixed ? static_cast<DeviceKind>(random_.below(3)) : all;
      const int cards = kind == DeviceKind::kGpu ? between(1, 3) : 1;
      for (int i = 0; i < cards; ++i) add_card(node, kind);
    }
    if (chance(15)) add_card(-1, DeviceKind::kGpu);
  }

  void add_card(int node, DeviceKind kind) {
    const int card = cards_++;
    const std::string name = "card-" + std::to_string(card);
    if (kind != DeviceKind::kPartition) {
      m_.devices.push_back({name, kind, node, card, 0, kGibOfCard});
      return;
    }
    for (const int size : {1, 2, 4})
      for (int at = 0; at + size <= kSlices; at += size)
        m_.devices.push_back({name + "-" + std::to_string(size) + "g-" + std::to_string(at), kind, node, card,
                              ((1u << size) - 1) << at, size * kGibOfSlice});
  }

  void draw_groups() {
    for (int i = between(0, 2); i > 0; --i) m_.groups.push_back({between(1, 3), chance(20)});
  }

  ModelClaim ask(DeviceKind kind, bool big) {
    ModelClaim claim;
    claim.kind = kind;
    if (kind == DeviceKind::kPartition) claim.size = big ? (chance(60) ? 4 : 2) : 1 << between(0, 1);
    if (kind == DeviceKind::kShared) claim.size = (big ? between(2, 4) : between(1, 3)) * kGibOfSlice;
    if (kind == DeviceKind::kGpu) claim.count = big ? between(1, 2) : 1;
    return claim;
  }

  bool is_free(const ModelClaim& claim, int device) const {
    const ModelDevice& d = m_.devices[device];
    int used = 0;
    for (const ModelClaim& other : m_.claims)
      for (const int held : other.devices) {
        const ModelDevice& h = m_.devices[held];
        if (d.kind == DeviceKind::kShared) used += held == device ? other.size : 0;
        if (d.kind == DeviceKind::kGpu && held == device) return false;
        if (d.kind == DeviceKind::kPartition && h.card == d.card && (h.slices & d.slices) != 0) return false;
      }
    return d.kind != DeviceKind::kShared || used + claim.size <= d.gib;
  }

  bool allocate(ModelClaim& claim, int node) {
    std::vector<int> free;
    for (int device = 0; device < static_cast<int>(m_.devices.size()); ++device) {
      const ModelDevice& d = m_.devices[device];
      const bool fits = d.kind != DeviceKind::kPartition || __builtin_popcount(d.slices) == claim.size;
      if (d.kind == claim.kind && fits && (d.node < 0 || d.node == node) && is_free(claim, device))
        free.push_back(device);
    }
    const size_t wanted = claim.kind == DeviceKind::kGpu ? static_cast<size_t>(claim.count) : 1;
    while (claim.devices.size() < wanted && !free.empty()) {
      const size_t at = random_.below(free.size());
      claim.devices.push_back(free[at]);
      free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::sort(claim.devices.begin(), claim.devices.end());
    return claim.devices.size() == wanted;
  }

  void draw_running() {
    ModelPod pod;
    pod.node = between(0, static_cast<int>(m_.cpu.size()) - 1);
    pod.cpu = between(0, 2);
    int used = 0;
    for (const ModelPod& other : m_.pods) used += other.node == pod.node ? other.cpu : 0;
    if (used + pod.cpu > m_.cpu[pod.node]) return;
    pod.priority = priority();
    pod.start = between(1, 6) * 60;
    pod.app = between(0, 2);
    pod.terminates = chance(12);
    pod.mirror = chance(4);
    pod.foreign = chance(4);
    pod.owned = chance(88);
    pod.kept = chance(6);
    pod.not_ready = chance(6);
    pod.only = chance(8) ? pod.node : -1;
    if (!m_.groups.empty() && chance(35)) pod.group = between(0, static_cast<int>(m_.groups.size()) - 1);
    ModelClaim claim = ask(kind_on(pod.node), chance(25));
    const int number = static_cast<int>(m_.pods.size());
    if (chance(85) && allocate(claim, pod.node)) {
      claim.pods.push_back(number);
      claim.stranger = chance(4);
      pod.claims.push_back(static_cast<int>(m_.claims.size()));
      m_.claims.push_back(claim);
    }
    m_.pods.push_back(pod);
  }

  DeviceKind kind_on(int node) {
    std::vector<DeviceKind> kinds;
    for (const ModelDevice& device : m_.devices)
      if (device.node == node || device.node < 0) kinds.push_back(device.kind);
    return kinds[random_.below(kinds.size())];
  }

  // Some pods use the claim of another pod on their node.
  void share_claims() {
    for (size_t i = 0; i < m_.pods.size(); ++i) {
      if (!chance(10) || m_.pods[i].claims.empty()) continue;
      const size_t other = random_.below(m_.pods.size());
      if (other == i || m_.pods[other].node != m_.pods[i].node) continue;
      const int claim = m_.pods[i].claims.front();
      if (std::find(m_.pods[other].claims.begin(), m_.pods[other].claims.end(), claim) != m_.pods[other].claims.end())
        continue;
      m_.pods[other].claims.push_back(claim);
      m_.claims[claim].pods.push_back(static_cast<int>(other));
    }
  }

  // `small`: one pod.
  void draw_pending(std::vector<int>& out, bool grouped) {
    const int number = grouped ? between(1, 3) : 1;
    int group = -1;
    if (grouped) {
      group = static_cast<int>(m_.groups.size());
      if (!m_.groups.empty() && chance(15)) {
        group = 0;
      } else {
        m_.groups.push_back({between(1, number + 1), chance(20)});
      }
    }
    const int own = std::vector<int>{10, 51, 51, 100, 150, 300}[random_.below(6)];
    const DeviceKind kind = kind_on(between(0, static_cast<int>(m_.cpu.size()) - 1));
    const ModelClaim claim = ask(kind, true);
    const bool shared = grouped && chance(15);
    bool made = false;
    for (int i = 0; i < number; ++i) {
      ModelPod pod;
      pod.priority = own;
      pod.cpu = between(0, 3);
      pod.group = group;
      pod.never_preempts = chance(3);
      if (chance(10)) pod.only = between(0, static_cast<int>(m_.cpu.size()) - 1);
      if (chance(92)) {
        if (!made || !shared) m_.claims.push_back(claim);
        made = true;
        pod.claims.push_back(static_cast<int>(m_.claims.size()) - 1);
      }
      if (i == 0 && chance(4) && !m_.claims.empty() && !m_.claims.front().devices.empty()) pod.claims.push_back(0);
      out.push_back(static_cast<int>(m_.pods.size()));
      m_.pods.push_back(pod);
    }
  }

  void draw_budgets() {
    for (int i = between(0, 3); i > 0; --i) m_.budgets.push_back({between(0, 2), between(0, 2)});
  }

  // Of the pending pods themselves, and of others that wait.
  void draw_promises() {
    for (int i = between(1, 2); i > 0; --i) {
      std::vector<int> owner;
      if (chance(50)) {
        owner = m_.pending;
      } else {
        draw_pending(owner, false);
      }
      ModelPromise promise;
      for (const int pod : owner) {
        if (chance(10)) continue;
        const int node = between(0, static_cast<int>(m_.cpu.size()) - 1);
        promise.places[pod] = node;
        for (const int claim : m_.pods[pod].claims)
          if (m_.claims[claim].devices.empty()) promise_devices(promise, claim, node);
      }
      for (size_t pod = 0; pod < m_.pods.size(); ++pod)
        if (m_.pods[pod].node >= 0 && chance(m_.pods[pod].terminates ? 70 : 30))
          promise.victims.push_back(static_cast<int>(pod));
      if (chance(40)) promise.victims.push_back(-1);
      m_.promises.push_back(promise);
    }
  }

  void promise_devices(ModelPromise& promise, int claim, int node) {
    std::vector<int>& devices = promise.allocations[claim];
    const ModelClaim& wanted = m_.claims[claim];
    const size_t number = wanted.kind == DeviceKind::kGpu ? static_cast<size_t>(wanted.count) : 1;
    for (int device = 0; device < static_cast<int>(m_.devices.size()) && devices.size() < number; ++device) {
      const ModelDevice& d = m_.devices[device];
      const bool fits = d.kind != DeviceKind::kPartition || __builtin_popcount(d.slices) == wanted.size;
      if (d.kind == wanted.kind && fits && (d.node < 0 || d.node == node) && chance(70)) devices.push_back(device);
    }
    if (devices.size() < number) promise.allocations.erase(claim);
  }

  SeededRandom random_;
  Model m_;
  int cards_ = 0;
};

}  // namespace

Model random_model(uint64_t seed) {
  return Drawing(seed).draw();
}

}  // namespace dra::preempt::testing
