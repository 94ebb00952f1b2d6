// DeviceTaintRules: kube-apiserver 1.36.2's answers to the same objects.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver::taint_rule_test {

class TaintRuleKind : public testing::Test {
 protected:
  std::string refused(const char* spec) const {
    const FieldErrors errors = kind->validate_create(context, {{"spec", Json::parse(spec)}});
    return errors.empty() ? "" : aggregate_text(errors);
  }
  Json updated(const char* taint, const char* old_taint) const {
    Json object{{"spec", {{"taint", Json::parse(taint)}}}};
    kind->prepare_for_update(context, object, {{"spec", {{"taint", Json::parse(old_taint)}}}});
    return object["spec"]["taint"];
  }

  TaintRuleKind() { context.clock = &clock; }
  std::unique_ptr<Kind> kind = make_device_taint_rule_kind();
  ManualClock clock;
  WriteContext context;
};

TEST_F(TaintRuleKind, NamesEveryWrongField) {
  EXPECT_EQ(refused(R"({"deviceSelector":{"driver":"drv.example.com","pool":"n1","device":"d0"},
                        "taint":{"key":"example.com/broken","value":"v","effect":"NoExecute"}})"),
            "");
  EXPECT_EQ(refused(R"({"taint":{"key":"k","effect":"None"}})"), "");
  EXPECT_EQ(refused(R"({"deviceSelector":{"driver":""},"taint":{"key":"a","effect":"NoSchedule"}})"),
            "spec.deviceSelector.driver: Required value");
  EXPECT_EQ(
      refused(R"({"deviceSelector":{},"taint":{}})"),
      "[spec.taint.key: Invalid value: \"\": name part must be non-empty, spec.taint.key: Invalid value: \"\": name "
      "part "
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
      "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), spec.taint.effect: Required value]");
  const std::string all = refused(R"({"deviceSelector":{"driver":"UPPER_case","pool":"/bad/","device":"Dev_0"},
                                      "taint":{"key":"bad key","value":"b b","effect":"Nope"}})");
  for (const char* part :
       {"[spec.deviceSelector.driver: Invalid value: \"UPPER_case\": a lowercase RFC 1123 subdomain must",
        ", spec.deviceSelector.pool: Invalid value: \"\": a lowercase RFC 1123 subdomain must",
        ", spec.deviceSelector.device: Invalid value: \"Dev_0\": a lowercase RFC 1123 label must",
        ", spec.taint.key: Invalid value: \"bad key\": name part must consist of",
        ", spec.taint.value: Invalid value: \"b b\": a valid label must be",
        ", spec.taint.effect: Unsupported value: \"Nope\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"]"})
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
}

// A change of the effect is a new taint; a change of key or value keeps the old time.
TEST_F(TaintRuleKind, TimeFollowsTheEffect) {
  const std::string now = format_rfc3339(clock.wall_now());
  Json created{{"spec", {{"taint", {{"key", "k"}, {"effect", "None"}}}}}};
  kind->prepare_for_create(context, created);
  EXPECT_EQ(created["spec"]["taint"]["timeAdded"], now);
  const char* old = R"({"key":"k","effect":"None","timeAdded":"2020-01-01T00:00:00Z"})";
  EXPECT_EQ(updated(R"({"key":"k","effect":"NoExecute","timeAdded":"2020-01-01T00:00:00Z"})", old)["timeAdded"], now);
  EXPECT_EQ(updated(R"({"key":"k","effect":"NoExecute","timeAdded":"2021-01-01T00:00:00Z"})", old)["timeAdded"],
            "2021-01-01T00:00:00Z");
  EXPECT_EQ(updated(R"({"key":"x","effect":"None","timeAdded":"2020-01-01T00:00:00Z"})", old)["timeAdded"],
            "2020-01-01T00:00:00Z");
  EXPECT_EQ(updated(R"({"key":"k","effect":"None"})", old)["timeAdded"], now);
}

TEST_F(TaintRuleKind, StatusHoldsEightConditions) {
  const auto judged = [&](Json conditions) {
    const FieldErrors errors =
        kind->validate_status_update(context, {{"status", {{"conditions", std::move(conditions)}}}}, {});
    return errors.empty() ? std::string() : aggregate_text(errors);
  };
  Json nine = Json::array();
  for (int i = 0; i < 9; ++i)
    nine.push_back({{"type", "T" + std::to_string(i)},
                    {"status", "True"},
                    {"reason", "R"},
                    {"message", "m"},
                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  EXPECT_EQ(judged(nine), "status.conditions: Too many: 9: must have at most 8 items");
  nine.erase(8);
  EXPECT_EQ(judged(nine), "");
  nine[1]["type"] = "T0";
  EXPECT_EQ(judged(nine), "status.conditions[1].type: Duplicate value: \"T0\"");
}

TEST_F(TaintRuleKind, Columns) {
  std::string names;
  for (const TableColumn& column : kind->columns()) names += column.name + " ";
  EXPECT_EQ(names, "Name Key Value Effect TimeAdded Age ");
  const Json cells =
      kind->cells(Json::parse(R"({"metadata":{"name":"r"},"spec":{"taint":{"key":"k","value":"v","effect":"None"}}})"),
                  clock.wall_now());
  EXPECT_EQ(cells, Json::parse(R"(["r","k","v","None","<unknown>","<unknown>"])"));
}

}  // namespace dra::apiserver::taint_rule_test
