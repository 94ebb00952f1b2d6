#include "pkg/manager/report/pending_pods.h"

#include <iterator>
#include <set>

namespace dra::manager {

namespace {

bool still_waits(const api::Pod* pod, const PendingPods::Waiting& waiting) {
  if (!pod || pod->metadata.uid != waiting.uid || pod->done() || !pod->node_name.empty()) return false;
  return !waiting.gated || !pod->scheduling_gates.empty();
}

}  // namespace

void PendingPods::waits(Waiting waiting) {
  std::string key = waiting.key;
  waiting_.insert_or_assign(std::move(key), std::move(waiting));
}

void PendingPods::waits(const reconcile::Labels& labels) {
  Waiting waiting;
  for (const auto& [name, value] : labels) {
    if (name == "pod") waiting.key = value;
    if (name == "uid") waiting.uid = value;
    if (name == "gated") waiting.gated = value == "true";
    if (name == "class") waiting.device_class = value;
    if (name == "cause") waiting.cause = value;
  }
  waits(std::move(waiting));
}

PendingPods::Counts PendingPods::count(const reconcile::View& view) {
  std::erase_if(waiting_, [&](const auto& entry) { return !still_waits(view.pod(entry.first), entry.second); });
  std::set<std::string> classes;
  for (const auto& [key, waiting] : waiting_) classes.insert(waiting.device_class);
  while (classes.size() > kMaxClasses) classes.erase(std::prev(classes.end()));
  Counts counts;
  for (const auto& [key, waiting] : waiting_)
    ++counts[{classes.contains(waiting.device_class) ? waiting.device_class : "(others)", waiting.cause}];
  return counts;
}

}  // namespace dra::manager
