// Counts kube-scheduler's writes from audit log lines in kube-apiserver's format.
#include "test/integration/audited_scheduler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/integration/api.h"

namespace dra::integration::audited_scheduler_test {

class AuditLog : public testing::Test {
 protected:
  AuditLog() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dra-audit-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    log_ = folder_ + "/audit.log";
  }
  ~AuditLog() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) { std::ofstream(log_, std::ios::app) << text; }
  static std::string event(const std::string& verb, const Json& target, int code, const Json& answer) {
    Json status{{"metadata", Json::object()}, {"code", code}};
    if (code >= 400) status["message"] = answer;
    Json line{{"stage", "ResponseComplete"}, {"verb", verb}, {"objectRef", target}, {"responseStatus", status}};
    if (code < 400) line["responseObject"] = answer;
    return line.dump() + "\n";
  }
  static Json target(const std::string& subresource = "") {
    Json ref{{"resource", "resourceclaims"}, {"name", "c"}};
    if (!subresource.empty()) ref["subresource"] = subresource;
    return ref;
  }
  // The claim in the answer to a status write; `owner` wrote the allocation.
  static Json claim(const std::string& owner) {
    Json object{{"metadata", {{"uid", "u"}}}, {"status", Json::object()}};
    if (owner.empty()) return object;
    object["metadata"]["managedFields"] = {{{"manager", owner},
                                            {"subresource", "status"},
                                            {"fieldsV1", {{"f:status", {{"f:allocation", Json::object()}}}}}}};
    object["status"]["allocation"] = {{"allocationTimestamp", "2026-01-01T00:00:00Z"}};
    return object;
  }

  std::string folder_, log_;
};

TEST_F(AuditLog, NothingIsWrittenYet) {
  AuditedScheduler scheduler(nullptr, log_, 0);
  EXPECT_EQ(scheduler.stats().claim_writes, 0u);
}

TEST_F(AuditLog, NominationsAreToldFromConditions) {
  AuditedScheduler scheduler(nullptr, log_, 0);
  const auto patch = [](int code, const Json& status) {
    return Json{{"verb", "patch"},
                {"objectRef", {{"resource", "pods"}, {"name", "p"}, {"subresource", "status"}}},
                {"requestObject", {{"status", status}}},
                {"responseStatus", {{"code", code}}}}
               .dump() +
           "\n";
  };
  write(patch(200, {{"nominatedNodeName", "n"}}));
  write(patch(200, {{"conditions", Json::array()}}));
  write(patch(200, {{"nominatedNodeName", nullptr}}));
  write(patch(404, {{"nominatedNodeName", "n"}}));
  EXPECT_EQ(scheduler.stats().nominations, 1u);
  EXPECT_EQ(scheduler.stats().failures, 0u) << "counts claims and bindings";
}

TEST_F(AuditLog, AnAllocationIsItsOwnOnlyIfItWroteTheField) {
  AuditedScheduler scheduler(nullptr, log_, 0);
  write(event("update", target(), 200, claim("")));                        // the finalizer
  write(event("update", target("status"), 200, claim("kube-scheduler")));  // the allocation
  write(event("update", target("status"), 200, claim("kube-scheduler")));  // one more pod reserved
  write(event("update", target("status"), 200, claim("somebody")));        // another's allocation reserved
  EXPECT_EQ(scheduler.stats().claim_writes, 4u);
  EXPECT_EQ(scheduler.stats().allocations, 1u);
  EXPECT_EQ(scheduler.stats().deallocations, 0u);
}

TEST_F(AuditLog, PostFilterTakesTheAllocationAwayAndUnreserveDoesNot) {
  AuditedScheduler scheduler(nullptr, log_, 0);
  write(event("patch", target("status"), 200, claim("somebody")));  // Unreserve
  EXPECT_EQ(scheduler.stats().deallocations, 0u);
  write(event("update", target("status"), 200, claim("")));
  EXPECT_EQ(scheduler.stats().deallocations, 1u);
  EXPECT_EQ(scheduler.stats().claim_writes, 2u);
}

TEST_F(AuditLog, RefusalsOfClaimsAndBindingsAreFailuresInTheServersWords) {
  AuditedScheduler scheduler(nullptr, log_, 0);
  write(event("update", target("status"), 422, "field is immutable"));
  EXPECT_EQ(scheduler.stats().last_failure, "field is immutable");
  write(event("create", {{"resource", "pods"}, {"subresource", "binding"}}, 409, "already assigned"));
  EXPECT_EQ(scheduler.stats().failures, 2u);
  EXPECT_EQ(scheduler.stats().claim_writes, 1u);
  EXPECT_EQ(scheduler.stats().last_failure, "already assigned");
}

TEST_F(AuditLog, LinesOfEarlierSchedulersAndUnfinishedOnesAreLeftAlone) {
  write(event("update", target("status"), 200, claim("")));
  AuditedScheduler scheduler(nullptr, log_, std::filesystem::file_size(log_));
  EXPECT_EQ(scheduler.stats().claim_writes, 0u);
  const std::string line = event("update", target("status"), 200, claim(""));
  write(line.substr(0, 40));
  EXPECT_EQ(scheduler.stats().claim_writes, 0u);
  write(line.substr(40));
  EXPECT_EQ(scheduler.stats().claim_writes, 1u);
  EXPECT_EQ(scheduler.stats().claim_writes, 1u);
}

}  // namespace dra::integration::audited_scheduler_test
