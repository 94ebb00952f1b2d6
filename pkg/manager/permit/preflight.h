// Preflight: asks the API server by SelfSubjectAccessReview which of the needed permissions this client has, and
// reports exactly which are missing. A server that does not answer reviews (no such API, or no permission to ask) is
// taken to grant everything; what it refuses later is reported then.
//
// Belongs to the reactor's thread. At most eight reviews are in flight.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/rest/rest_client.h"
#include "pkg/manager/options.h"
#include "pkg/manager/permit/permissions.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class Preflight {
 public:
  static constexpr size_t kMostInFlight = 8;
  static constexpr Duration kRecheck = std::chrono::minutes(1);

  // Everything must outlive it. Each round uses `client` and `options` as they are when it begins.
  Preflight(Reactor& reactor, client::RestClient& client, const ManagerOptions& options)
      : reactor_(reactor), client_(client), options_(options) {}

  // Asks now, and every minute while something is missing. `answered` is called after each round, from a later task. A
  // review that gets a transient error (no connection, 5xx) is repeated after 5 s, twice; then it counts as granted.
  void start(std::function<void()> answered);
  void stop();

  bool done() const { return rounds_ > 0; }
  // All roles that the controller needs are granted.
  bool permits(std::string_view controller) const;
  // The role is granted, as far as known.
  bool grants(std::string_view role) const;

  // For messages: "this manager may not list jobs.batch, watch
  // jobs.batch: bind the ClusterRole ..."; empty: granted.
  std::string why_not(std::string_view role) const;

  struct Missing {
    std::string permission;  // "create resourceclaims.resource.k8s.io"
    std::string role;        // "claimtemplate"
    std::string without;     // "controller claimtemplate is off"
    std::string text() const { return "missing permission: " + permission + " (" + without + ")"; }
  };
  const std::vector<Missing>& missing() const { return missing_; }
  // Why reviews were not answered; empty when they were.
  const std::string& trouble() const { return trouble_; }

 private:
  enum class Grant { kGranted, kMissing, kUnknown };
  struct Question {
    client::Permission permission;
    std::vector<const PermissionRole*> roles;
  };

  void begin_round();
  void ask_more();
  void answered(size_t index, Result<client::AccessAnswer> answer);
  void end_round();
  void notify_changes(const std::vector<Missing>& before) const;

  Reactor& reactor_;
  client::RestClient& client_;
  const ManagerOptions& options_;
  std::function<void()> on_round_;
  std::vector<Question> questions_;
  std::vector<Grant> grants_;
  std::map<size_t, Handle> calls_;
  size_t next_ = 0;
  int failed_rounds_ = 0;
  uint64_t rounds_ = 0;
  bool refused_ = false;  // this round: the server does not answer reviews
  std::string trouble_;
  std::vector<Missing> missing_;
  Handle timer_;
};

}  // namespace dra::manager
