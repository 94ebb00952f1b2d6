// What the manager needs of an API server, asked of the embedded one and, when KUBEBUILDER_ASSETS names a folder with
// etcd and kube-apiserver, of a real one (docs/real-cluster.md).
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/informer/informer.h"
#include "client/rest/patch.h"
#include "client/writer/writer.h"
#include "pkg/manager/discovery.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "test/integration/cluster.h"
#include "test/integration/real_control_plane.h"

namespace dra::integration::real_test {

using namespace std::chrono_literals;

// A program that is not there, one that ends, one that never answers.
class Start : public testing::Test {
 protected:
  Start() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dra-assets-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Start() override { std::filesystem::remove_all(folder_); }

  void program(const std::string& name, const std::string& script) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\necho $$ > " << path << ".pid\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  bool runs(const std::string& name) {
    pid_t pid = 0;
    std::ifstream(folder_ + "/" + name + ".pid") >> pid;
    EXPECT_GT(pid, 0) << name << " was never started";
    return pid > 0 && ::kill(pid, 0) == 0;
  }
  std::string failure(Duration patience) {
    const auto plane = RealControlPlane::start(folder_, patience);
    return plane ? "" : plane.error().message();
  }

  std::string folder_;
};

TEST_F(Start, AMissingProgramIsNamed) {
  EXPECT_EQ(failure(1s), "KUBEBUILDER_ASSETS names \"" + folder_ +
                             "\", which has no executable \"etcd\": put etcd and kube-apiserver of one release there");
  program("etcd", "exec sleep 60");
  EXPECT_NE(failure(1s).find("has no executable \"kube-apiserver\""), std::string::npos);
}

TEST_F(Start, AProgramThatEndsIsQuotedAndTheOtherIsStopped) {
  program("etcd", "exec sleep 60");
  // Not before the other one has said who it is.
  program("kube-apiserver", "until [ -s " + folder_ + "/etcd.pid ]; do sleep 0.01; done\n" +
                                "echo unknown flag: --secure-port >&2; exit 3");
  const std::string why = failure(30s);
  EXPECT_NE(why.find("kube-apiserver ended with exit code 3: unknown flag: --secure-port"), std::string::npos) << why;
  EXPECT_FALSE(runs("etcd"));
}

TEST_F(Start, AServerThatNeverAnswersIsGivenUp) {
  program("etcd", "exec sleep 60");
  program("kube-apiserver", "echo still thinking; exec sleep 60");
  std::string why = failure(500ms);
  // On a busy machine the programs may not have got anywhere yet.
  for (int patience = 1; patience <= 16 && why.find("still thinking") == std::string::npos; patience *= 4)
    why = failure(std::chrono::seconds(patience));
  EXPECT_NE(why.find("was not ready in time"), std::string::npos) << why;
  EXPECT_NE(why.find("still thinking"), std::string::npos) << why;
  EXPECT_FALSE(runs("etcd"));
  EXPECT_FALSE(runs("kube-apiserver"));
}

enum class Kind { kEmbedded, kReal };

class Server : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kEmbedded) {
      plane_ = std::make_unique<SimControlPlane>();
    } else {
      const char* folder = std::getenv("KUBEBUILDER_ASSETS");
      if (folder == nullptr) GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set";
      auto started = RealControlPlane::start(folder, 60s);
      ASSERT_TRUE(started) << started.error().message();
      plane_ = std::move(*started);
    }
    api_ = std::make_unique<Api>(*plane_, plane_->transport());
    client_ = std::make_unique<client::RestClient>(plane_->transport());
    writer_ = std::make_unique<client::Writer>(*client_);
  }
  void TearDown() override {
    writer_.reset();
    client_.reset();
    api_.reset();
    plane_.reset();
  }

  static client::Resource claims() { return {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true}; }
  // A patch of claim "c" as reconcilers write it, through the writer that performs theirs.
  Result<client::Written> patch(const std::string& subresource, const Json& body, const Json& at,
                                const std::string& uid = "") {
    client::WriteRequest write;
    write.object = {claims(), "default", "c", subresource};
    const Json& metadata = at["metadata"];
    const std::string pinned = uid.empty() ? metadata["uid"].get<std::string>() : uid;
    write.body = client::merge_patch(body, {pinned, metadata["resourceVersion"].get<std::string>()});
    write.field_manager = subresource.empty() ? reconcile::kFieldManager : reconcile::kAllocationManager;
    std::optional<Result<client::Written>> result;
    writer_->perform(write, [&](Result<client::Written> answer) { result = std::move(answer); });
    plane_->run_until([&] { return result.has_value(); }, 30s);
    return result.value_or(fail(Code::kInternal, "no answer"));
  }
  static std::string outcome(const Result<client::Written>& answer) {
    return answer ? "ok" : std::string(code_name(answer.error().code()));
  }
  Json allocated_on_n0(const Json& pod) {
    const std::string now = format_rfc3339(plane_->reactor().clock().wall_now());
    return {{"status",
             {{"allocation", allocation("n0", {"gpu-0"}, now)}, {"reservedFor", Json::array({pod_reference(pod)})}}}};
  }

  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<client::RestClient> client_;
  std::unique_ptr<client::Writer> writer_;
};

TEST_P(Server, ServesTheGroupAndTheStatusOfClaims) {
  const auto version = manager::choose_dra_version(api_->get("/apis/resource.k8s.io").dump());
  ASSERT_TRUE(version) << version.error().message();
  EXPECT_EQ(*version, "v1");
  std::set<std::string> served;
  const Json list = api_->get("/apis/resource.k8s.io/v1");
  for (const Json& resource : list["resources"]) served.insert(resource["name"].get<std::string>());
  for (const char* name :
       {"deviceclasses", "resourceclaims", "resourceclaims/status", "resourceclaimtemplates", "resourceslices"})
    EXPECT_TRUE(served.contains(name)) << name;
}

TEST_P(Server, TakesAnAllocationOnceAndSaysWhoWroteIt) {
  api_->create(device_class());
  const Json pod_made = api_->create(pod("p", {from_claim("gpu", "c")}));
  const Json fresh = api_->create(claim("c"));
  EXPECT_EQ(outcome(patch("status", allocated_on_n0(pod_made), fresh, "another-uid")), "NotFound");
  const Result<client::Written> written = patch("status", allocated_on_n0(pod_made), fresh);
  ASSERT_TRUE(written) << written.error().message();
  const Json allocated = Json::parse(written->object);
  EXPECT_EQ(allocated["status"]["allocation"]["devices"]["results"][0]["device"], "gpu-0");

  // Known to be ours by the owner of the field.
  const auto owns_allocation = [](const Json& field) {
    return field.value("subresource", "") == "status" && field["fieldsV1"].contains("f:status") &&
           field["fieldsV1"]["f:status"].contains("f:allocation");
  };
  std::set<std::string> owners;
  for (const Json& field : allocated["metadata"]["managedFields"])
    if (owns_allocation(field)) owners.insert(field["manager"].get<std::string>());
  EXPECT_EQ(owners, std::set<std::string>{std::string(reconcile::kAllocationManager)});

  // A rival that looked before that write, and one that looked after it.
  EXPECT_EQ(outcome(patch("status", allocated_on_n0(pod_made), fresh)), "Conflict");
  Json other = allocated_on_n0(pod_made);
  other["status"]["allocation"]["devices"]["results"][0]["device"] = "gpu-1";
  EXPECT_EQ(outcome(patch("status", other, allocated)), "Conflict");

  // The proof: finalizer and annotation in one write, at exactly that version.
  const Json proof{{"metadata",
                    {{"finalizers", {std::string(api::kDeleteProtectionFinalizer)}},
                     {"annotations", {{std::string(reconcile::kProofAnnotation), "x"}}}}}};
  EXPECT_EQ(outcome(patch("", proof, fresh)), "Conflict");
  EXPECT_EQ(outcome(patch("", proof, allocated)), "ok");
}

TEST_P(Server, StreamsAListAndWhatComesAfterIt) {
  api_->create(claim("before"));
  SeededRandom random(1);
  client::ReflectorOptions options;
  options.resource = claims();
  client::Informer<api::ResourceClaim> informer(plane_->reactor(), plane_->transport(), random, options);
  informer.start();
  ASSERT_TRUE(plane_->run_until([&] { return informer.synced(); }, 30s));
  EXPECT_TRUE(informer.store().get("default/before"));
  api_->create(claim("after"));
  EXPECT_TRUE(plane_->run_until([&] { return informer.store().get("default/after") != nullptr; }, 30s));
}

TEST_P(Server, LetsTheManagerTakeAGatedPodToItsNode) {
  api_->create(device_class());
  api_->create(claim_template("one-gpu"));
  api_->create(node("n0"));
  api_->create(slice("n0", 2));
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  Process manager(plane_->reactor(), plane_->transport(), process);
  manager.start();
  ASSERT_TRUE(plane_->run_until([&] { return manager.manager().leading(); }, 30s));
  api_->create(pod("p", {from_template("gpu", "one-gpu")}));
  Json let_go;
  for (int i = 0; i < 300 && let_go.is_null(); ++i) {
    plane_->pass(100ms);
    const Json now = api_->get(Api::path("Pod", "p"));
    if (!now["spec"].contains("schedulingGates")) let_go = now;
  }
  ASSERT_FALSE(let_go.is_null()) << "the gate was not lifted within 30 s";
  const std::string affinity = let_go["spec"]["affinity"].dump();
  EXPECT_NE(affinity.find(R"("metadata.name","operator":"In","values":["n0"])"), std::string::npos) << affinity;
  const std::vector<Json> made = api_->list("ResourceClaim");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_TRUE(made[0]["metadata"]["annotations"].contains(std::string(reconcile::kProofAnnotation)));
  EXPECT_EQ(made[0]["status"]["reservedFor"][0]["uid"], let_go["metadata"]["uid"]);
}

INSTANTIATE_TEST_SUITE_P(Embedded, Server, testing::Values(Kind::kEmbedded), [](const auto&) { return "Server"; });
INSTANTIATE_TEST_SUITE_P(Real, Server, testing::Values(Kind::kReal), [](const auto&) { return "Server"; });

}  // namespace dra::integration::real_test
