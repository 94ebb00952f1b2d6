// LeaseRecord: the fields of a Lease (coordination.k8s.io/v1) used by leader election, and their rules. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"

namespace dra::client {

struct LeaseRecord {
  std::string holder;  // empty: nobody
  int duration_seconds = 0;
  std::string acquire_time;  // metav1.MicroTime
  std::string renew_time;
  int transitions = 0;
  std::string resource_version;
  // Of the object: a renewal replaces it as a whole, so it must write again what others have put there.
  std::map<std::string, std::string> labels, annotations;
  // Changes whenever the holder acts: every field of the spec.
  std::string fingerprint() const;
};

// Parses a Lease object; missing fields are empty. Fails if the text is not an object.
Result<LeaseRecord> parse_lease(std::string_view json);
// The body of a create or update.
std::string lease_json(const LeaseRecord& record, const std::string& ns, const std::string& name);

struct ElectionTimes {
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
};
// lease > renew deadline > 1.2 x retry period, all at least a second, lease in whole seconds. The message names the
// flags.
Result<void> validate(const ElectionTimes& times);

}  // namespace dra::client
