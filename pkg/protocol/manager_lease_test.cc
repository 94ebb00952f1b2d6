#include "pkg/protocol/manager_lease.h"

#include <gtest/gtest.h>

namespace dra::protocol {
namespace {

TEST(ManagerLease, WhatIsWrittenIsRead) {
  ManagerNotes notes{"0.1.0", "bind", "", {"dra-scheduler", "other"}, {"gpu.example.com"}, {}};
  notes.preempts = "on";
  notes.quarantine = "drv/pool/gpu-0=1700000000";
  notes.moves = "1700000000/ml/owner-uid/pod-uid,1699999000/ml/owner-uid/other-uid";
  EXPECT_EQ(notes_of(annotations_of(notes)), notes);
  EXPECT_EQ(notes_of({}), ManagerNotes{});
  EXPECT_EQ(notes_of(annotations_of({})), ManagerNotes{});
}

TEST(ManagerLease, LongListsAreCutAtAName) {
  ManagerNotes notes;
  for (int i = 0; i < 1000; ++i) notes.shared.push_back("driver-" + std::to_string(i) + ".example.com");
  const api::StringMap annotations = annotations_of(notes);
  for (const auto& [key, value] : annotations) EXPECT_LE(value.size(), kMaxLeaseAnnotation);
  const ManagerNotes read = notes_of(annotations);
  ASSERT_FALSE(read.shared.empty());
  for (size_t i = 0; i < read.shared.size(); ++i) EXPECT_EQ(read.shared[i], notes.shared[i]);
}

TEST(ManagerLease, AHolderIsLateAfterTwoDurations) {
  api::Lease lease;
  lease.lease_duration_seconds = 15;
  lease.renew_time = "2026-03-01T12:00:00.000000Z";
  const auto at = [](const char* text) {
    Timestamp time;
    EXPECT_TRUE(parse_rfc3339(text, time));
    return time;
  };
  EXPECT_EQ(leadership_of(lease, at("2026-03-01T12:00:05Z")), Leadership::kNone);
  lease.holder_identity = "a";
  EXPECT_EQ(leadership_of(lease, at("2026-03-01T11:59:50Z")), Leadership::kLeads) << "our clock is behind";
  EXPECT_EQ(leadership_of(lease, at("2026-03-01T12:00:30Z")), Leadership::kLeads);
  EXPECT_EQ(leadership_of(lease, at("2026-03-01T12:00:31Z")), Leadership::kLate);
  lease.renew_time = "never";
  EXPECT_EQ(leadership_of(lease, at("2026-03-01T12:00:05Z")), Leadership::kLate);
}

}  // namespace
}  // namespace dra::protocol
