// docs/metrics.md lists what is registered: no more, no less, with these types and labels.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/manager/device_gauges.h"
#include "pkg/manager/instruments.h"
#include "pkg/manager/serving.h"
#include "pkg/metrics/metrics.h"

namespace dra::manager::metrics_doc_test {

// "counter{a,b}" by name.
std::map<std::string, std::string> documented() {
  std::map<std::string, std::string> found;
  std::ifstream in("docs/metrics.md");
  EXPECT_TRUE(in) << "docs/metrics.md; tests run in the source root";
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 7) continue;  // of another table
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
  SeededRandom random(1);
  metrics::Registry registry;
  inventory::Inventory inventory;
  allocator::Allocator allocator(inventory, {}, random);
  registry.add_process_metrics();
  add_build_info(registry, "1.2.3");
  slow_path_counter(registry, "a");
  reactor_delays(registry);
  reactor_tasks(registry);
  const Instruments instruments(registry);
  const DeviceGauges gauges(registry, inventory, allocator);
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

// Of a closed set every member is there from the start: a counter that comes into being at 1 has no rate.
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
