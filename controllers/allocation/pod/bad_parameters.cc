#include "controllers/allocation/pod/bad_parameters.h"

#include <set>
#include <string>
#include <utility>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/report.h"
#include "pkg/parameters/check.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

class ParameterFindings {
 public:
  // `holder`: whose parameters they are; `entry`: where they are in it.
  void check(const std::string& holder, const std::string& entry, const api::OpaqueConfig& opaque) {
    constexpr size_t kMaxBytes = size_t{64} << 10;
    if (opaque.parameters_json.size() > kMaxBytes - read_) return;
    read_ += opaque.parameters_json.size();
    for (const parameters::ParameterProblem& problem :
         parameters::check_parameters_text(opaque.driver, opaque.parameters_json)) {
      Found& found = problem.gate.empty() ? refused_ : gated_;
      if (++found.count > 1) continue;
      const std::string path = path_text(problem);
      found.text =
          holder + ": " + entry + ".opaque.parameters" + (path.empty() ? "" : "." + path) + ": " + problem.text;
      found.driver = opaque.driver;
    }
  }

  void report(const PodContext& context, ReconcileResult& out) const {
    if (refused_.count > 0)
      complain(context,
               {"ParametersRefused",
                refused_.text + "; " + refused_.others() + "driver " + refused_.driver +
                    " will refuse the claim, and the pod will not start: mend the parameters, then make the claim and "
                    "the pod anew",
                refused_.text},
               out);
    if (gated_.count > 0)
      complain(
          context,
          {"ParametersNeedGate", gated_.text + "; " + gated_.others() + "while the gate is off, the pod will not start",
           gated_.text, false},
          out);
  }

 private:
  struct Found {
    size_t count = 0;
    std::string text;
    std::string driver;
    std::string others() const {
      return count == 1 ? "" : "and " + std::to_string(count - 1) + " more (kubectl dra lint); ";
    }
  };

  size_t read_ = 0;
  Found refused_, gated_;
};

// "claim "ml/a-gpu-x", made from ResourceClaimTemplate "gpu"": the template is what is to be mended then.
std::string holder_of(const api::Pod& pod, const api::ResourceClaim& claim) {
  const std::string text = "claim \"" + claim.metadata.key() + "\"";
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    if (entry.resource_claim_template_name && protocol::resolve_created_claim(pod, entry).name == claim.metadata.name)
      return text + ", made from ResourceClaimTemplate \"" + *entry.resource_claim_template_name + "\"";
  return text;
}

}  // namespace

void warn_of_parameters(const PodContext& context, ReconcileResult& out) {
  ParameterFindings findings;
  std::set<std::string> classes;
  for (const protocol::ClaimState& state : context.state.claims) {
    const api::ResourceClaim& claim = *state.claim;
    for (size_t i = 0; i < claim.spec.config.size(); ++i)
      if (const auto& opaque = claim.spec.config[i].opaque; opaque && opaque->at_entry < 0)
        findings.check(holder_of(context.pod, claim), "spec.devices.config[" + std::to_string(i) + "]", *opaque);
    classes.merge(classes_of(claim.spec));
  }
  for (const std::string& name : classes) {
    const api::DeviceClass* known = context.view.device_class(name);
    for (size_t i = 0; known != nullptr && i < known->config.size(); ++i)
      findings.check("DeviceClass \"" + name + "\"", "spec.config[" + std::to_string(i) + "]", known->config[i]);
  }
  findings.report(context, out);
}

}  // namespace dra::allocation
