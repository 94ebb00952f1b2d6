#include "pkg/protocol/leaving.h"

#include <algorithm>
#include <charconv>

namespace dra::protocol {

using namespace reconcile;

namespace {

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Leaving leaving_of(const api::Pod& pod) {
  Leaving leaving;
  const auto annotation = pod.metadata.annotations.find(kLeavingAnnotation);
  if (annotation == pod.metadata.annotations.end()) return leaving;
  std::string_view rest = annotation->second;
  while (!rest.empty() && leaving.size() < kMaxLeaving) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t at = one.rfind('@');
    if (at == std::string_view::npos) continue;
    if (const auto version = whole_number(one.substr(at + 1))) leaving[std::string(one.substr(0, at))] = *version;
  }
  return leaving;
}

std::optional<uint64_t> version_of(const api::ResourceClaim& claim) {
  return whole_number(claim.metadata.resource_version);
}

}  // namespace dra::protocol
