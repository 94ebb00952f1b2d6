// Semver: semantic versions as in device attributes of type `version` and in CEL's semver().
//
// Strict rules of semver.org 2.0 as github.com/blang/semver/v4 implements them; parse_normalized() adds the `normalize`
// argument of k8s.io/apiserver/pkg/cel/library. Error texts are upstream's.
//
// Plain value; safe from many threads as long as nobody writes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::api {

class Semver {
 public:
  // 0.0.0
  Semver() = default;

  // major.minor.patch[-prerelease][+build], numbers without leading zeros and below 2^64. The error's message is
  // exactly upstream's text.
  static Result<Semver> parse(std::string_view text);
  // Also takes a leading `v`, fewer than three numbers and leading zeros ("v1.2", "01.2.3"); see cel's semver(s, true).
  static Result<Semver> parse_normalized(std::string_view text);

  uint64_t major() const { return major_; }
  uint64_t minor() const { return minor_; }
  uint64_t patch() const { return patch_; }
  // Without the leading '-' or '+'; empty when there is none.
  const std::string& prerelease() const { return prerelease_; }
  const std::string& build() const { return build_; }

  // Precedence: build metadata does not count. Negative, 0 or positive.
  int compare(const Semver& other) const {
    if (major_ != other.major_) return major_ < other.major_ ? -1 : 1;
    if (minor_ != other.minor_) return minor_ < other.minor_ ? -1 : 1;
    if (patch_ != other.patch_) return patch_ < other.patch_ ? -1 : 1;
    return prerelease_.empty() && other.prerelease_.empty() ? 0 : compare_prerelease(other);
  }
  friend bool operator==(const Semver& a, const Semver& b) { return a.compare(b) == 0; }
  friend std::weak_ordering operator<=>(const Semver& a, const Semver& b) { return a.compare(b) <=> 0; }

  std::string to_string() const;
  // Equal precedence hashes equally.
  size_t hash() const;

 private:
  int compare_prerelease(const Semver& other) const;

  uint64_t major_ = 0;
  uint64_t minor_ = 0;
  uint64_t patch_ = 0;
  std::string prerelease_;
  std::string build_;
};

}  // namespace dra::api

template <>
struct std::hash<dra::api::Semver> {
  size_t operator()(const dra::api::Semver& v) const { return v.hash(); }
};
