#include "pkg/inspect/state/unseen.h"

#include <algorithm>
#include <array>

#include "pkg/base/strings.h"

namespace dra::inspect {
namespace {

// Kinds of the cluster as a whole, which a role in a namespace cannot allow.
constexpr std::array<std::string_view, 5> kOfCluster{"nodes", "namespaces", "deviceclasses", "resourceslices",
                                                     "devicetaintrules"};

bool is_of_cluster(std::string_view plural) {
  return std::find(kOfCluster.begin(), kOfCluster.end(), plural) != kOfCluster.end();
}

std::string advice_on_role() {
  return "the ClusterRole " + std::string(kViewerRole) + " allows it";
}

}  // namespace

Error not_known(const Objects& objects, std::string_view plural, std::string_view ns, const std::string& what,
                const std::string& advice) {
  const std::string where = ns.empty() ? "" : " in namespace " + std::string(ns);
  if (ns.empty() ? !objects.hides(plural) : !objects.hides_in(plural, ns))
    return Error(Code::kNotFound, what + " is not known" + where + advice);
  return Error(Code::kPermissionDenied, what + " is not visible: you may not list " + std::string(plural) + where +
                                            (is_of_cluster(plural) ? "; " + advice_on_role() : ""));
}

std::string why_with_role(const Hidden& hidden) {
  return hidden.why + (hidden.why == kMayNotList && is_of_cluster(hidden.what) ? "; " + advice_on_role() : "");
}

std::string why_undecidable(const Objects& objects) {
  std::vector<std::string> unseen;
  for (const char* plural : {"nodes", "deviceclasses", "resourceslices"})
    if (objects.hides(plural)) unseen.emplace_back(plural);
  if (unseen.empty()) return "";
  return "it cannot be decided: " + join(unseen, ", ") + " are not visible (" + std::string(kMayNotList) + "; " +
         advice_on_role() + ")";
}

std::vector<std::string> hidden_notes(const Objects& objects, const std::string& effect) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const Hidden& hidden : objects.hidden) {
    const std::string why = why_with_role(hidden);
    const auto same =
        std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& one) { return one.first == why; });
    if (same == by_reason.end())
      by_reason.emplace_back(why, std::vector{hidden.what});
    else
      same->second.push_back(hidden.what);
  }
  std::vector<std::string> notes;
  for (const auto& [why, what] : by_reason)
    notes.push_back("not visible: " + join(what, ", ") + " (" + why + ")" + effect);
  return notes;
}

}  // namespace dra::inspect
