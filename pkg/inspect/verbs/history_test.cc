// history: what is left of a pod's waiting, in the order of time, and what is lost.
#include "pkg/inspect/verbs/history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/protocol/history.h"

namespace dra::inspect::history_test {

struct World {
  Objects objects;
  std::shared_ptr<api::Pod> pod = named_object<api::Pod>("ml", "train-0");

  World() {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    pod->metadata.uid = "u";
    pod->metadata.creation_timestamp = "2026-03-01T11:00:00Z";
    objects.pods["ml/train-0"] = pod;
  }
};

constexpr const char* kEvents = R"({"items":[
  {"involvedObject":{"uid":"u"},"reason":"FailedScheduling","message":"none","type":"Warning","eventTime":"2026-03-01T11:00:30.000000Z",
   "reportingComponent":"dra-controller-manager","series":{"count":4,"lastObservedTime":"2026-03-01T11:20:00.000000Z"}},
  {"involvedObject":{"uid":"other"},"reason":"X","message":"of an older pod of the name","firstTimestamp":"2026-03-01T11:00:31Z"},
  {"involvedObject":{"uid":"u"},"reason":"Scheduled","message":"to n","type":"Normal","firstTimestamp":"2026-03-01T11:40:00Z","count":1,
   "source":{"component":"default-scheduler"}},
  7, {"involvedObject":3}, {"involvedObject":{"uid":"u"}}]})";

std::vector<std::string> rows(const Answer& answer) {
  std::vector<std::string> all;
  for (const Row& row : answer.tables.at(0).rows) {
    std::string line;
    for (const Cell& cell : row.cells) line += (line.empty() ? "" : " | ") + cell.text;
    all.push_back(line);
  }
  return all;
}

TEST(HistoryVerb, PutsTogetherWhatIsLeft) {
  World world;
  world.pod->metadata.annotations[std::string(protocol::kHistoryAnnotation)] =
      "2026-03-01T11:00:40Z 3 nodes: all devices held\n2026-03-01T11:39:00Z allocated d/n/gpu-0";
  world.pod->conditions.push_back(
      {.type = "PodScheduled", .status = "True", .last_transition_time = "2026-03-01T11:40:00Z"});
  auto claim = named_object<api::ResourceClaim>("ml", "c");
  claim->metadata.creation_timestamp = "2026-03-01T11:00:01Z";
  claim->metadata.owner_references = {{"v1", "Pod", "train-0", "u", true}};
  claim->status.allocation.emplace();
  claim->status.allocation->allocation_timestamp = "2026-03-01T11:38:59Z";
  api::DeviceRequestAllocationResult result;
  result.driver = "d";
  result.pool = "n";
  result.device = "gpu-0";
  claim->status.allocation->results = {result};
  world.objects.claims["ml/c"] = claim;
  const auto events = events_of_pod(kEvents, "u");
  ASSERT_TRUE(events);
  const Answer answer = history(world.objects, *world.pod, *events);
  EXPECT_EQ(rows(answer),
            (std::vector<std::string>{
                "2026-03-01T11:00:00Z | pod | Created | -",
                "2026-03-01T11:00:01Z | claim | Created | claim c",
                "2026-03-01T11:00:30Z | event of dra-controller-manager | FailedScheduling | none (4 times, last "
                "2026-03-01T11:20:00.000000Z)",
                "2026-03-01T11:00:40Z | cause | Waits | 3 nodes: all devices held",
                "2026-03-01T11:38:59Z | claim | Allocated | claim c: d/n/gpu-0",
                "2026-03-01T11:39:00Z | cause | Waits | allocated d/n/gpu-0",
                "2026-03-01T11:40:00Z | condition | PodScheduled=True | -",
                "2026-03-01T11:40:00Z | event of default-scheduler | Scheduled | to n",
                "- | event |  | -",
            }));
  EXPECT_EQ(answer.notes.size(), 2u);
}

TEST(HistoryVerb, SaysWhatIsLost) {
  World world;
  EventsOfPod hidden;
  hidden.why_not = "you may not list events";
  const auto has = [](const Answer& answer, const std::string& part) {
    return std::any_of(answer.notes.begin(), answer.notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  Answer answer = history(world.objects, *world.pod, hidden);
  EXPECT_TRUE(has(answer, "no cause is recorded"));
  EXPECT_TRUE(has(answer, "events are not shown: you may not list events"));
  std::string eight;
  for (int i = 0; i < 8; ++i)
    eight += "2026-03-01T11:00:4" + std::to_string(i) + "Z c" + std::string(1, 'a' + i) + "\n";
  world.pod->metadata.annotations[std::string(protocol::kHistoryAnnotation)] = eight;
  EventsOfPod cut;
  cut.cut = true;
  answer = history(world.objects, *world.pod, cut);
  EXPECT_TRUE(has(answer, "causes before the first of these eight are lost"));
  EXPECT_TRUE(has(answer, "only the first 500 events"));
  EXPECT_TRUE(has(answer, "events are lost after an hour"));
}

// The issue's words: a forgery changes nothing but what is shown, and is shown as text.
TEST(HistoryVerb, AForgeryIsShownAsText) {
  World world;
  world.pod->metadata.annotations[std::string(protocol::kHistoryAnnotation)] =
      "2026-03-01T11:00:40Z \x1b]0;title\x07\x1b[2J<script>\r\nno time at all\n9999-99-99T99:99:99Z x";
  const Answer answer = history(world.objects, *world.pod, {});
  ASSERT_EQ(rows(answer).size(), 2u) << "lines without a time are left out";
  const std::string text = render(answer, {Format::kTable});
  EXPECT_NE(text.find("\\x1b]0;title\\x07\\x1b[2J<script>\\x0d"), std::string::npos) << text;
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}

TEST(HistoryVerb, NamesAPod) {
  World world;
  EXPECT_TRUE(pod_of_history(world.objects, "train-0", "ml"));
  EXPECT_TRUE(pod_of_history(world.objects, "pod/train-0", "ml"));
  EXPECT_NE(pod_of_history(world.objects, "trian-0", "ml").error().message().find("did you mean \"train-0\"?"),
            std::string::npos);
  EXPECT_EQ(pod_of_history(world.objects, "claim/x", "ml").error().message(),
            "history is about a pod: history pod/NAME; \"claim/x\" is none");
  EXPECT_FALSE(events_of_pod("[]", "u"));
  EXPECT_FALSE(events_of_pod("", "u"));
}

}  // namespace dra::inspect::history_test
