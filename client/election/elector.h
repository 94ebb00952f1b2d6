// Elector: leader election by a Lease, compatible with client-go.
//
// Clocks of other machines are never compared with ours: a foreign holder keeps the lease for its lease duration,
// counted from the moment its last change was seen here. Stricter than upstream in three ways. Leadership ends as soon
// as another holder is seen. It ends, fail closed, if the lease was not renewed within renew_deadline of the *sending*
// of the last successful renewal. It is released on stop(), after the caller's work has ended. A lease write with an
// unknown outcome never counts as a success.
//
// Give it a Transport of its own (a separate connection), so that renewals do not wait behind other requests. Belongs
// to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/election/lease_record.h"
#include "client/rest/rest_client.h"
#include "pkg/base/random.h"

namespace dra::client {

struct ElectorOptions {
  std::string ns = "kube-system";
  std::string name = "dra-controller-manager";
  // "<hostname>_<uuid>"; must differ between processes.
  std::string identity;
  ElectionTimes times;
  // Labels that the lease gets, beside those that it has.
  std::map<std::string, std::string> labels;
  // Asked before each write: annotations that the lease gets, beside those that it has; an empty value removes one.
  // Null: none.
  std::function<std::map<std::string, std::string>()> annotations;
};

struct ElectorCallbacks {
  // We are the leader. Each call begins a new term.
  std::function<void()> on_started;
  // We are no longer the leader; `why` gives the cause. Start no further writes.
  std::function<void(const std::string& why)> on_stopped;
  // Another identity holds the lease ("" if nobody does).
  std::function<void(const std::string& holder)> on_new_leader;
  // While we lead the lease was read with other annotations than we know of: somebody else wrote them, without taking
  // the lease, or a write of ours arrived whose answer was lost. As we knew them, and as they are now. Our next renewal
  // keeps what ElectorOptions::annotations does not name.
  std::function<void(const std::map<std::string, std::string>& ours, const std::map<std::string, std::string>& now)>
      on_annotations_changed;
  // Before we take the lease: the annotations that it has, of whoever held it before.
  std::function<void(const std::map<std::string, std::string>& annotations)> on_taking;
  // Called when a renewal needs a GET first, for leader_election_slowpath_total.
  std::function<void()> on_slow_path;
};

class Elector {
 public:
  // `times` must have passed validate(). Everything must outlive the elector.
  Elector(Reactor& reactor, RestClient& client, Random& random, ElectorOptions options, ElectorCallbacks callbacks);
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  // Starts to campaign, and to renew once elected, until stop().
  void start();
  // Ends the term (calls on_stopped if we lead), releases the lease if we held it, then
  // calls `done`, at most retry_period after this call.
  void stop(std::function<void()> done);

  bool leading() const { return leading_; }
  // The last observed holder.
  const std::string& leader() const { return observed_.holder; }
  // For the health check "leaderElection": false if we lead but have not renewed for lease duration + 20 s.
  bool healthy() const;

 private:
  void schedule(Duration delay);
  void attempt();
  void look();
  void looked(Result<std::string> answer);
  void try_create();
  void try_update();
  void wrote(Result<std::string> answer, MonoTime sent);
  void observe(LeaseRecord record);
  bool foreign_and_valid() const;
  void lead(MonoTime since);
  void lose(const std::string& why);
  void arm_deadline();
  void send_release();
  void release();
  void end_stop();
  std::string micro_now() const;
  LeaseRecord own_record() const;
  ObjectPath path() const;
  Duration request_timeout() const { return options_.times.renew_deadline / 2; }

  Reactor& reactor_;
  RestClient& client_;
  Random& random_;
  ElectorOptions options_;
  ElectorCallbacks callbacks_;

  bool running_ = false;
  bool leading_ = false;
  LeaseRecord observed_;
  bool have_observed_ = false;
  bool must_look_ = true;   // the stored resourceVersion may be wrong: GET before writing
  MonoTime observed_at_{};  // when the record was last seen to change
  MonoTime renewed_at_{};   // when the last successful renewal was sent
  Handle timer_;
  Handle deadline_;
  Handle call_;
  std::function<void()> stopped_;
};

}  // namespace dra::client
