// docs/metrics.md lists exactly the registered metrics, with these types and labels.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/serve/reference.h"
#include "pkg/metrics/metrics.h"
#include "pkg/reconcile/reasons_table.h"

namespace dra::manager::metrics_doc_test {

// "counter{a,b}" by name.
std::map<std::string, std::string> documented() {
  std::map<std::string, std::string> found;
  std::ifstream in("docs/metrics.md");
  EXPECT_TRUE(in) << "docs/metrics.md; tests run in the source root";
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 7) continue;  // a row of another table
    std::string name(trim(cells[1])), labels(trim(cells[3]));
    std::erase(name, '`');
    std::erase_if(labels, [](char c) { return c == '`' || c == ' '; });
    if (labels == "none") labels.clear();
    EXPECT_TRUE(found.emplace(name, std::string(trim(cells[2])) + "{" + labels + "}").second) << name << " twice";
    for (const size_t cell : {4, 5}) EXPECT_NE(trim(cells[cell]), "") << name << " says too little";
  }
  return found;
}

TEST(MetricsDocumentation, IsWhatIsRegistered) {
  metrics::Registry registry;
  register_metrics(registry);
  std::map<std::string, std::string> registered;
  for (const metrics::Registry::FamilyInfo& family : registry.families()) {
    registered[family.name] = family.type + "{" + join(family.labels, ",") + "}";
    const bool foreign = family.name.starts_with("process_");
    EXPECT_TRUE(foreign || family.help.starts_with("[ALPHA] ")) << family.name;
    EXPECT_EQ(family.type == "counter", family.name.ends_with("_total")) << family.name;
    EXPECT_EQ(family.help.back(), family.name.starts_with("workqueue_") ? family.help.back() : '.') << family.name;
  }
  EXPECT_EQ(documented(), registered);
}

// The compiler checks that every reason has a meaning; this checks that every meaning has a reason.
TEST(ReasonsTable, HasNoEntryThatNobodyWrites) {
  std::string sources;
  for (const char* room : {"controllers", "pkg/manager", "pkg/reconcile", "pkg/protocol"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(room)) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with(".cc") || name.ends_with("_test.cc")) continue;
      sources.append(std::istreambuf_iterator<char>(std::ifstream(file.path()).rdbuf()), {});
    }
  ASSERT_GT(sources.size(), 100'000u) << "tests run in the source root";
  std::string before;
  for (const reconcile::EventMeaning& event : reconcile::kEventMeanings) {
    const std::string reason(event.reason);
    EXPECT_NE(sources.find('"' + reason + '"'), std::string::npos) << reason << " is in the table, and nobody emits it";
    EXPECT_LT(before, reason) << "the table is sorted";
    EXPECT_TRUE(event.type == "Normal" || event.type == "Warning") << reason;
    before = reason;
  }
  for (const reconcile::ConditionMeaning& condition : reconcile::kConditionMeanings)
    EXPECT_NE(sources.find('"' + std::string(condition.reason) + '"'), std::string::npos) << condition.reason;
}

// Each member of a closed set is served from the start: a counter that first appears at 1 has no rate.
TEST(MetricsDocumentation, FailuresAreServedBeforeTheFirst) {
  metrics::Registry registry;
  const Instruments instruments(registry);
  const std::string text = registry.text();
  for (const char* line : {"dra_allocation_failures_total{cause=\"InUse\"} 0\n",
                           "dra_allocation_failures_total{cause=\"InvalidRequest\"} 0\n",
                           "dra_allocation_failures_total{cause=\"NoNode\"} 0\n",
                           "resourceclaim_controller_creates_total{admin_access=\"true\",status=\"failure\"} 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

}  // namespace dra::manager::metrics_doc_test
