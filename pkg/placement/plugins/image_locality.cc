// ImageLocality.
#include <algorithm>

#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kLeastImageSum = 23 * kMiB;
constexpr int64_t kMostImageSum = 1000 * kMiB;  // per container

uint64_t normalized_image(const std::string& image) {
  const auto place = [&](char c) {
    const size_t at = image.rfind(c);
    return at == std::string::npos ? -1 : static_cast<int64_t>(at);
  };
  return api::image_hash(place(':') <= place('/') ? image + ":latest" : image);
}

// An image named twice counts twice.
std::vector<uint64_t> images_of(const api::Pod& pod) {
  std::vector<uint64_t> out;
  for (const api::Container& container : pod.init_containers) out.push_back(normalized_image(container.image));
  for (const api::Container& container : pod.containers) out.push_back(normalized_image(container.image));
  for (const api::PodVolume& volume : pod.volumes)
    if (!volume.image.empty()) out.push_back(normalized_image(volume.image));
  return out;
}

}  // namespace

void score_images(const Attempt& attempt, Scores& scores) {
  const Cluster& cluster = attempt.cluster;
  std::vector<uint64_t> images = images_of(attempt.pod());
  std::erase_if(images, [&](uint64_t image) { return cluster.nodes_with_image(image) == 0; });
  const int64_t containers =
      static_cast<int64_t>(attempt.pod().containers.size() + attempt.pod().init_containers.size());
  if (images.empty() || containers == 0) return;
  const auto total = static_cast<double>(cluster.nodes().size());
  const int64_t most = kMostImageSum * containers;
  for (size_t i = 0; i < scores.nodes.size(); ++i) {
    const std::vector<api::NodeImage>& present = cluster.rest(scores.nodes[i]).node->images;
    int64_t sum = 0;
    for (const uint64_t image : images) {
      const auto found = std::find_if(present.begin(), present.end(),
                                      [&](const api::NodeImage& one) { return one.name_hash == image; });
      if (found == present.end()) continue;
      const double spread = static_cast<double>(cluster.nodes_with_image(image)) / total;
      sum += static_cast<int64_t>(static_cast<double>(found->size_bytes) * spread);
    }
    const int64_t clamped = std::clamp(sum, kLeastImageSum, most);
    scores.totals[i] += kMaxPluginScore * (clamped - kLeastImageSum) / (most - kLeastImageSum);
  }
}

}  // namespace dra::placement
