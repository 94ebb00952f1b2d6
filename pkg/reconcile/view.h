// View: what a reconciler sees. Everything in it is const and stays valid for the length of one pass.
//
// Objects are the newest this process knows: what the stream (list and watch) delivered, and over it the answers to our
// own writes and live GETs. Proofs look at streamed_claim(), which is the stream alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/reconcile/key.h"

namespace dra::reconcile {

// What is known from the server itself about one object.
enum class Presence {
  kUnknown,  // nobody asked in this run of passes
  kPresent,  // a live GET found it; it is in the stores now
  kAbsent,   // a live GET did not find it (or found another uid), or the stream delivered the deletion of this uid
};

class View {
 public:
  virtual ~View() = default;

  // By store key ("namespace/name", or "name"); nullptr when not known.
  virtual const api::Pod* pod(std::string_view key) const = 0;
  virtual const api::ResourceClaim* claim(std::string_view key) const = 0;
  virtual const api::ResourceClaimTemplate* claim_template(std::string_view key) const = 0;
  virtual const api::Node* node(std::string_view name) const = 0;
  virtual const api::Namespace* ns(std::string_view name) const = 0;
  virtual const api::DeviceClass* device_class(std::string_view name) const = 0;
  // All of them, by name.
  virtual std::vector<const api::DeviceClass*> device_classes() const = 0;
  // The same object as claim() gives, for those who keep it.
  virtual std::shared_ptr<const api::ResourceClaim> shared_claim(std::string_view key) const = 0;
  // The claim as the stream alone has it.
  virtual const api::ResourceClaim* streamed_claim(std::string_view key) const = 0;

  // Claims whose controlling owner has this uid, by name.
  virtual std::vector<const api::ResourceClaim*> claims_controlled_by(std::string_view uid) const = 0;
  // Claims that are reserved for the pod of this uid, whether or not the pod names them, by name.
  virtual std::vector<const api::ResourceClaim*> claims_reserved_for(std::string_view pod_uid) const = 0;
  // Claims whose allocation names a device of the pool, with administrative access or without, by name.
  virtual std::vector<const api::ResourceClaim*> claims_on_pool(std::string_view driver,
                                                                std::string_view pool) const = 0;
  // Pods one of whose entries resolves to the claim (or whose extended resource claim it is), by name.
  virtual std::vector<const api::Pod*> pods_of_claim(std::string_view key) const = 0;
  // Pods one of whose entries names the template, by name.
  virtual std::vector<const api::Pod*> pods_of_template(std::string_view key) const = 0;

  // What the server said about this object since the key's last pass that asked for nothing.
  virtual Presence confirmed(const Ref& object) const = 0;
  // How long the object has been as it is, as far as this process saw; zero for one it does not know.
  virtual Duration unchanged_for(Kind kind, std::string_view key) const = 0;
  // The signature of the last event of this reason about this uid; nothing when there was none (or it is forgotten).
  virtual std::optional<std::string> last_event(std::string_view uid, std::string_view reason) const = 0;

  struct Noted {
    std::string text;
    Duration age{};  // since the note was made
  };
  // The last Note of this topic about this uid; nothing when there was none (or it is forgotten).
  virtual std::optional<Noted> note(std::string_view /*uid*/, std::string_view /*topic*/) const { return std::nullopt; }

  virtual WallTime now() const = 0;
  // The version of resource.k8s.io that is spoken: "resource.k8s.io/v1".
  virtual std::string_view dra_api_version() const { return "resource.k8s.io/v1"; }
};

}  // namespace dra::reconcile
