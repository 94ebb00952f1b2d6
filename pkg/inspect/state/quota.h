// What the ResourceQuotas of a namespace say about claims that do not exist yet.
//
//   QuotaBook book(objects, /*empty=*/false);
//   if (auto refusal = book.refusal("ml", charge_of(objects, *claim))) say(text_of(*refusal, "the claim"));
//   book.add("ml", charge);   // the claim counts for those that come after it
//
// What counts, as in the admission of Kubernetes 1.36 (quota/v1/evaluator/core/resource_claims.go): each claim as one;
// for each class the devices that it asks for (ExactCount its count, All 32, firstAvailable the largest alternative);
// the same devices under the extended resource names of the class. A quota with scopes counts no claims. The server
// compares with status.hard; until that is written, spec.hard is taken. Compute resources and numbers of pods are not
// judged. Pure. QuotaBook is not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

inline constexpr std::string_view kClaimCount = "count/resourceclaims.resource.k8s.io";
inline constexpr std::string_view kDevicesOfClass = ".deviceclass.resource.k8s.io/devices";  // after the class
inline constexpr std::string_view kRequested = "requests.";  // before the name of an extended resource

using QuotaCharge = std::map<std::string, int64_t, std::less<>>;  // by resource name, as in quotas

// What the claim counts. `paid`: extended resources that its pod counts itself.
QuotaCharge charge_of(const Objects& objects, const api::ResourceClaim& claim,
                      const std::vector<protocol::ExtendedResource>& paid = {});
void add_to(QuotaCharge& sum, const QuotaCharge& more);

struct QuotaRefusal {
  std::string quota;     // "namespace/name"
  std::string resource;  // as in spec.hard
  int64_t allowed = 0, used = 0, asked = 0;
};
// "ResourceQuota ml/q allows 1 device of class gpu, 0 are used, and the claim asks for 2"
std::string text_of(const QuotaRefusal& refusal, const std::string& who);
std::string remedy_of(const QuotaRefusal& refusal);

class QuotaBook {
 public:
  // `empty`: as if nothing in the cluster counted.
  QuotaBook(const Objects& objects, bool empty);
  // The first quota, by name, and the first of its resources that the charge would exceed.
  std::optional<QuotaRefusal> refusal(std::string_view ns, const QuotaCharge& charge) const;
  void add(const std::string& ns, const QuotaCharge& charge);
  void take_back(const std::string& ns, const QuotaCharge& charge);

 private:
  const Objects& objects_;
  const bool empty_;
  std::map<std::string, QuotaCharge, std::less<>> added_;  // by namespace
};

// Why it is not known whether a quota refuses claims of the namespace; empty: it is known, or was never asked for.
std::string why_quotas_unseen(const Objects& objects, const std::string& ns);

}  // namespace dra::inspect
