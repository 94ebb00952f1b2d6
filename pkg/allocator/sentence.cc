#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "pkg/allocator/reasons.h"
#include "pkg/base/utf8.h"

namespace dra::allocator {

namespace {

constexpr size_t kMostText = 1000;
constexpr size_t kMostDetail = 160;
constexpr size_t kMostCauses = 6;

std::string cut_text(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  return std::string(utf8_prefix(text, limit - 3)) + "...";
}

std::string with_detail(std::string text, const std::string& detail) {
  return detail.empty() ? text : text + " (" + cut_text(detail, kMostDetail) + ")";
}

// What stands behind the number: "in use", "rejected by selector 1".
std::string phrase(const CauseCount& count, const char* usable) {
  const std::string selector = "selector " + std::to_string(count.index + 1);
  switch (count.cause) {
    case Cause::kPoolIncomplete:
      return "in a pool that is being updated";
    case Cause::kPoolInvalid:
      return "in a pool that is published wrongly";
    case Cause::kWrongNode:
      return "on other nodes";
    case Cause::kFeatureDisabled:
      return "that need feature gate " + count.detail;
    case Cause::kClassSelector:
      return "rejected by " + selector + " of the class";
    case Cause::kRequestSelector:
      return "rejected by " + selector;
    case Cause::kEvaluationError:
      return with_detail("on which a selector fails", count.detail);
    case Cause::kTaint:
      return with_detail("tainted", count.detail);
    case Cause::kCapacityShort:
      return "short of capacity " + cut_text(count.detail, kMostDetail);
    case Cause::kInUse:
      return "in use";
    case Cause::kCounterShort:
      return "short of counter " + cut_text(count.detail, kMostDetail);
    case Cause::kConstraint:
      return "without a common value of " + cut_text(count.detail, kMostDetail);
    case Cause::kLimit:
      return with_detail("beyond the limit", count.detail);
    default:
      return usable;
  }
}

std::string wanted(const RequestReason& reason, bool name_claim) {
  std::string text = reason.devices_wanted == 0 ? "all " : std::to_string(reason.devices_wanted) + " x ";
  text += reason.request;
  const size_t slash = reason.claim.find('/');
  if (name_claim)
    text += " (claim " + (slash == std::string::npos ? reason.claim : reason.claim.substr(slash + 1)) + ")";
  return text;
}

uint32_t usable_alone(const RequestReason& reason) {
  for (const CauseCount& count : reason.counts)
    if (count.cause == Cause::kCombination) return count.devices;
  return 0;
}

// Mode All wants every device that its selectors choose, so any that is chosen and cannot be had stands in the way.
bool impossible_alone(const RequestReason& reason) {
  if (reason.devices_wanted > 0) return usable_alone(reason) < reason.devices_wanted;
  return std::any_of(reason.counts.begin(), reason.counts.end(), [](const CauseCount& count) {
    return count.cause != Cause::kWrongNode && count.cause != Cause::kClassSelector &&
           count.cause != Cause::kRequestSelector && count.cause != Cause::kCombination;
  });
}

// Words of a request that has no devices to count: its class is missing, or it is not valid.
const CauseCount* refusal(const RequestReason& reason) {
  for (const CauseCount& count : reason.counts)
    if (count.cause == Cause::kClassMissing || count.cause == Cause::kInvalidRequest) return &count;
  return nullptr;
}

std::string counted_out(const RequestReason& reason, const char* usable = "usable") {
  std::vector<const CauseCount*> counts;
  for (const CauseCount& count : reason.counts)
    if (count.devices > 0) counts.push_back(&count);
  if (counts.empty()) return "there are no devices";
  std::stable_sort(counts.begin(), counts.end(),
                   [](const CauseCount* a, const CauseCount* b) { return a->devices > b->devices; });
  std::string text;
  uint32_t others = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i >= kMostCauses) {
      others += counts[i]->devices;
      continue;
    }
    text += (i > 0 ? ", " : "") + std::to_string(counts[i]->devices);
    if (i == 0) text += counts[i]->devices == 1 ? " device" : " devices";
    text += " " + phrase(*counts[i], usable);
  }
  if (others > 0) text += ", " + std::to_string(others) + " for other reasons";
  return text;
}

// The request without the alternative: "req" of "req/sub".
std::string base_request(const RequestReason& reason) {
  return reason.claim + "//" + reason.request.substr(0, reason.request.find('/'));
}

// Requests none of whose alternatives is possible alone.
std::vector<const RequestReason*> hopeless(const std::vector<const RequestReason*>& chosen) {
  std::map<std::string, bool> possible;
  for (const RequestReason* reason : chosen) possible[base_request(*reason)] |= !impossible_alone(*reason);
  std::vector<const RequestReason*> list;
  for (const RequestReason* reason : chosen)
    if (!possible[base_request(*reason)]) list.push_back(reason);
  return list;
}

// 1234567 -> "1,234,567".
std::string grouped(uint32_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

// Of the request that was counted least far, where one was not counted to its end.
std::string not_examined(const std::vector<const RequestReason*>& chosen) {
  const RequestReason* least = nullptr;
  for (const RequestReason* reason : chosen)
    if (reason->devices_examined < reason->devices_asked &&
        (least == nullptr || reason->devices_examined < least->devices_examined))
      least = reason;
  return least == nullptr
             ? ""
             : "; " + grouped(least->devices_examined) + " of " + grouped(least->devices_asked) + " devices examined";
}

}  // namespace

std::string Reasons::sentence(std::string_view who_cannot, std::string_view claim) const {
  std::vector<const RequestReason*> chosen;
  bool several_claims = false;
  for (const RequestReason& reason : requests) {
    if (const CauseCount* refused = refusal(reason)) return cut_text(refused->detail, kMostText);
    several_claims = several_claims || reason.claim != requests.front().claim;
    if (claim.empty() || reason.claim == claim) chosen.push_back(&reason);
  }
  const std::string begin = std::string(who_cannot) + " ";
  std::string text;
  const std::vector<const RequestReason*> impossible = hopeless(chosen);
  for (const RequestReason* reason : impossible)
    text += (text.empty() ? begin : "; nor ") + wanted(*reason, several_claims) + ": " + counted_out(*reason);
  if (impossible.empty()) {
    for (const RequestReason* reason : chosen)
      text += (text.empty() ? begin : " and ") + wanted(*reason, several_claims);
    if (text.empty()) text = begin + "the devices";
    if (chosen.size() != 1) text += " together";
    if (!claim.empty() && several_claims) text += " together with the pod's other claims";
    const char* usable = nodes_examined > 1 ? "usable but spread over nodes" : "usable but not together";
    for (size_t i = 0; i < chosen.size(); ++i)
      text += (i == 0 ? ": " : "; ") + (chosen.size() > 1 ? "for " + chosen[i]->request + " " : std::string()) +
              counted_out(*chosen[i], usable);
    // Of several nodes the proof is one node's; that nothing fits together has been said.
    if (nodes_asked <= 1 && !proof.empty() && proof != kExhausted) text += "; " + proof;
  }
  text += not_examined(chosen);
  if (nodes_examined < nodes_asked)
    text += "; " + std::to_string(nodes_examined) + " of " + std::to_string(nodes_asked) + " nodes examined";
  return cut_text(std::move(text), kMostText);
}

}  // namespace dra::allocator
