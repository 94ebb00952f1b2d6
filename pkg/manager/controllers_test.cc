// What other folders state about controllers equals what the controllers declare themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "controllers/all.h"
#include "pkg/manager/manager.h"
#include "pkg/manager/permit/chart_roles.h"
#include "pkg/manager/permit/permissions.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::manager::controllers_test {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path << "; tests run in the source root";
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Controllers, EachFolderIsInTheList) {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator("controllers"))
    if (entry.is_directory()) folders.insert(entry.path().filename());
  const std::vector<std::string> names = controller_names();
  EXPECT_EQ(folders, std::set<std::string>(names.begin(), names.end())) << "controllers/list.inc";
}

TEST(Controllers, DescribeThemselvesCompletely) {
  SeededRandom random(1);
  inventory::Inventory inventory;
  allocator::Allocator allocator(inventory, {}, random);
  SystemClock clock;
  nodes::NodeTracker nodes(clock);
  std::set<std::string_view> names, flags;
  for (const reconcile::Controller* controller : all_controllers()) {
    SCOPED_TRACE(controller->name);
    for (const std::string_view alias : controller->aliases) {
      EXPECT_TRUE(names.insert(alias).second);
      EXPECT_EQ(find_controller(alias), controller);
    }
    EXPECT_TRUE(names.insert(controller->name).second);
    EXPECT_EQ(find_controller(controller->name), controller);
    EXPECT_FALSE(controller->does.empty());
    ASSERT_FALSE(controller->roles.empty()) << "it could watch nothing";
    EXPECT_EQ(controller->roles.front().name, controller->name);
    for (const reconcile::Flag& flag : controller->flags) {
      EXPECT_TRUE(flags.insert(flag.name).second) << flag.name;
      EXPECT_NE(std::find(flag.words.begin(), flag.words.end(), flag.default_value), flag.words.end()) << flag.name;
    }
    ASSERT_NE(controller->make, nullptr);
    const auto made = controller->make(settings_of({}), {inventory, allocator, nodes});
    EXPECT_EQ(made.name, controller->name);
  }
  EXPECT_EQ(find_controller("gardener"), nullptr);
}

// The chart has a role for each permission that some of its values need, and no role for others.
TEST(Controllers, TheRolesOfTheChartAreThoseThatItsValuesNeed) {
  const auto roles = chart_roles();
  ASSERT_TRUE(roles) << roles.error().message();
  ASSERT_EQ(roles->size(), permission_roles().size());
  std::set<std::string_view> by_default;
  for (const ChartRole& role : *roles) {
    SCOPED_TRACE(role.role->name);
    bool holds = true;
    for (const ChartCondition& condition : role.when) {
      EXPECT_FALSE(condition.in.empty());
      const std::map<std::string, std::string> defaults{{"scheduling.mode", "gate"},
                                                        {"claimTemplates", "observe"},
                                                        {"deviceTaintEviction", "observe"},
                                                        {"recreatePinnedPods", "off"},
                                                        {"preemption", "off"},
                                                        {"defragment", "off"},
                                                        {"recoverFailedPrepares", "off"},
                                                        {"usage", "on"}};
      const std::string& value = defaults.at(condition.path);
      holds = holds && std::find(condition.in.begin(), condition.in.end(), value) != condition.in.end();
    }
    if (holds) by_default.insert(role.role->name);
  }
  std::set<std::string_view> needed;
  for (const PermissionRole* role : needed_roles(chart_defaults())) needed.insert(role->name);
  EXPECT_EQ(by_default, needed);
  // One that every mode needs, one of a single mode, and one that only reads while everything is only observed.
  const auto named = [&](std::string_view name) -> const ChartRole& {
    return *std::find_if(roles->begin(), roles->end(), [&](const ChartRole& role) { return role.role->name == name; });
  };
  EXPECT_TRUE(named("events").when.empty());
  ASSERT_EQ(named("allocation-bind").when.size(), 1u);
  EXPECT_EQ(named("allocation-bind").when[0].path, "scheduling.mode");
  EXPECT_EQ(named("allocation-bind").when[0].in, std::vector<std::string>{"bind"});
  EXPECT_FALSE(named("allocation-bind").can_be_limited);
  ASSERT_TRUE(named("allocation").can_be_limited);
  ASSERT_EQ(named("allocation").reads_only.size(), 1u);
  EXPECT_EQ(named("allocation").reads_only[0].in, std::vector<std::string>{"observe"});
}

// Each word of a switch means the same to the controller, its roles and the manager's own.
TEST(Controllers, AWordOfASwitchMeansTheSameEverywhere) {
  for (const std::string_view word : reconcile::kSwitchWords) {
    SCOPED_TRACE(word);
    ManagerOptions options = chart_defaults();
    options.settings.flags["recreate-pinned-pods"] = word;
    const bool on = word == "on" || word == "true";
    EXPECT_EQ(reconcile::switched_on(settings_of(options), "recreate-pinned-pods"), on);
    std::set<std::string_view> roles;
    for (const PermissionRole* role : needed_roles(options)) roles.insert(role->name);
    EXPECT_EQ(roles.contains("allocation-recreate"), on);
    EXPECT_EQ(roles.contains(kJobsRole), on);
  }
}

// A kind that the manager has no store for would never be listed, and every reconcile would wait for it.
TEST(Controllers, WatchOnlyWhatTheManagerHasStoresFor) {
  const std::set<std::string> stores{"pods",           "nodes",         "resourceclaims",   "resourceclaimtemplates",
                                     "resourceslices", "deviceclasses", "devicetaintrules", "poddisruptionbudgets",
                                     "events"};
  for (const PermissionRole& role : permission_roles())
    for (const PermissionRule& rule : role.rules)
      for (const std::string& verb : rule.verbs)
        if (verb == "watch" && role.described) {
          EXPECT_TRUE(stores.contains(rule.resource)) << role.name << " watches " << rule.resource;
        }
}

TEST(Controllers, AreAllInTheDocs) {
  const std::string page = text_of("docs/contributor/a-new-controller.md");
  for (const reconcile::Controller* controller : all_controllers()) {
    const std::string name(controller->name);
    const std::string readme = text_of("controllers/" + name + "/README.md");
    EXPECT_TRUE(std::regex_search(readme, std::regex("^# " + name))) << name;
    for (const reconcile::Flag& flag : controller->flags)
      EXPECT_NE(readme.find("--" + std::string(flag.name)), std::string::npos) << readme;
  }
  EXPECT_NE(page.find("controllers/list.inc"), std::string::npos);
}

}  // namespace dra::manager::controllers_test
