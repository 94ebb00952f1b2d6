#include "pkg/inventory/shares.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"
#include "pkg/identity/record.h"
#include "pkg/parameters/effective.h"

namespace dra::inventory {
namespace {

constexpr char kBetween = '\0';
constexpr size_t kMaxShown = 120;  // bytes of parameters, for people

// Whether parameters that name `names` are for the request or its alternative.
bool applies_to(const std::vector<std::string>& names, std::string_view alternative) {
  const std::string_view request = alternative.substr(0, alternative.find('/'));
  return names.empty() || std::any_of(names.begin(), names.end(),
                                      [&](const std::string& name) { return name == request || name == alternative; });
}

std::string shown(std::string_view parameters) {
  if (parameters.empty()) return "none";
  if (parameters.starts_with("? ")) return "too long to be compared";
  const std::string_view cut = utf8_prefix(parameters, kMaxShown);
  return std::string(cut) + (cut.size() < parameters.size() ? "..." : "");
}

}  // namespace

const std::string* class_of(const api::ResourceClaim& claim, std::string_view alternative) {
  const std::string_view name = alternative.substr(0, alternative.find('/'));
  for (const api::DeviceRequest& request : claim.spec.requests) {
    if (request.name != name) continue;
    if (request.exactly) return &request.exactly->device_class_name;
    for (const api::DeviceSubRequest& sub : request.first_available)
      if (alternative.size() > name.size() && sub.name == alternative.substr(name.size() + 1))
        return &sub.device_class_name;
  }
  return nullptr;
}

std::string share_text(const ShareTerms& terms) {
  std::string text;
  for (const std::string_view part : {terms.ns, terms.device_class}) {
    text += part;
    text += kBetween;
  }
  text += terms.parameters;
  return text;
}

ShareTerms read_share(std::string_view text) {
  const size_t first = text.find(kBetween), second = text.find(kBetween, first + 1);
  return {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

std::shared_ptr<const ShareAsk> Shares::ask(const api::ResourceClaim& claim, const std::string& alternative,
                                            const api::DeviceClass& device_class) const {
  if (!rules_.compares_any() && policies_.empty()) return nullptr;
  auto made = std::make_shared<ShareAsk>();
  const auto add = [&](const api::OpaqueConfig& opaque, bool for_all) {
    if (!rules_.compares(opaque.driver)) return;
    made->applied.push_back({opaque.driver, opaque.parameters_json, for_all});
    if (opaque.parameters_json.empty()) made->stranger = claim.metadata.uid;
  };
  for (const api::OpaqueConfig& opaque : device_class.config) add(opaque, false);
  for (const api::DeviceClaimConfig& config : claim.spec.config)
    if (config.opaque && applies_to(config.requests, alternative)) add(*config.opaque, config.requests.empty());
  for (const ShareAsk::Applied& one : made->applied)
    for (const std::string_view part : {std::string_view(one.driver), std::string_view(one.json)})
      made->key += std::to_string(part.size()) + ":" + std::string(part) + (one.for_all ? "+" : "");
  made->key += "|" + made->stranger;
  if (policies_.empty()) return made;
  made->ns = claim.metadata.ns;
  made->device_class = device_class.metadata.name;
  if (const auto own = policies_.find(made->device_class); own != policies_.end()) {
    made->ruled = true;
    made->order = own->second.policy.order;
  }
  made->key += "|" + std::to_string(policies_version_) + "|" + made->ns + "/" + made->device_class;
  return made;
}

std::string Shares::terms_of(std::string_view uid, const api::ResourceClaim* of,
                             const api::AllocationResult& allocation, const api::DeviceRequestAllocationResult& result,
                             const std::string& device_type) const {
  std::string parameters;
  if (rules_.compares(result.driver)) {
    std::vector<parameters::AppliedParameters> applied;
    for (const api::DeviceAllocationConfiguration& config : allocation.config)
      if (config.opaque && config.opaque->driver == result.driver && applies_to(config.requests, result.request))
        applied.push_back({config.opaque->parameters_json, config.requests.empty()});
    parameters = parameters::effective_parameters(result.driver, device_type, applied, uid);
  }
  const std::string* device_class = of == nullptr ? nullptr : class_of(*of, result.request);
  return share_text({of == nullptr ? std::string_view() : of->metadata.ns,
                     device_class == nullptr ? std::string_view() : *device_class, parameters});
}

std::string Shares::type_of(const Pool& pool, uint32_t device) const {
  const StrId key = strings_.find(pool.driver_text + "/type");
  const StrId value = key == kNoStr ? kNoStr : pool.attribute(device, key);
  if (value == kNoStr) return "";
  const std::string_view code = strings_.text(value);
  return code.starts_with('s') ? std::string(code.substr(1)) : std::string();
}

const std::string& Shares::parameters_of(const ShareAsk& ask, const Pool& pool, uint32_t device) const {
  static const std::string none;
  if (ask.applied.empty()) return none;
  const auto [made, fresh] = ask.parameters.try_emplace({pool.driver_text, type_of(pool, device)});
  if (fresh) {
    std::vector<parameters::AppliedParameters> applied;
    for (const ShareAsk::Applied& one : ask.applied)
      if (one.driver == pool.driver_text) applied.push_back({one.json, one.for_all});
    made->second = parameters::effective_parameters(pool.driver_text, made->first.second, applied, ask.stranger);
  }
  return made->second;
}

std::string Shares::refused_by_parameters(const Pool& pool, uint32_t device, std::span<const ShareTaker> takers) const {
  if (!rules_.compares(pool.driver_text)) return "";
  const std::string& ours = parameters_of(*takers.front().ask, pool, device);
  bool differ = std::any_of(takers.begin() + 1, takers.end(),
                            [&](const ShareTaker& taker) { return parameters_of(*taker.ask, pool, device) != ours; });
  if (const std::vector<SharedTerms>* shares = pool.shared_terms(device); shares != nullptr && !differ)
    differ = std::any_of(shares->begin(), shares->end(), [&](const SharedTerms& one) {
      return read_share(strings_.text(one.terms)).parameters != ours;
    });
  if (!differ) return "";
  // Not what the others have: they may be of another namespace.
  return "who shares it has other parameters for driver " + pool.driver_text + " than " + shown(ours) +
         ", and the driver refuses both on one device: give them the same, or set --shared-device-parameters " +
         pool.driver_text + "=any if the driver takes it";
}

void Shares::add_party(std::vector<Party>& parties, Party added) {
  const auto known = std::find_if(parties.begin(), parties.end(), [&](const Party& one) {
    return one.ns == added.ns && one.device_class == added.device_class;
  });
  if (known == parties.end()) return parties.push_back(std::move(added));
  known->shares += added.shares;
  known->takes = known->takes || added.takes;
  for (size_t i = 0; i < known->sums.size() && i < added.sums.size(); ++i) known->sums[i] += added.sums[i];
}

std::string Shares::broken_policy(const std::string& device_class, const ClassPolicy& of,
                                  const std::vector<Party>& parties, const CapacityShape& shape) const {
  const sharing::Policy& policy = of.policy;
  uint32_t all = 0;
  std::set<std::string_view> namespaces;
  for (const Party& one : parties) {
    all += one.shares;
    namespaces.insert(one.ns);
  }
  if (policy.sharers > 0 && all > policy.sharers)
    return "it has as many shares as sharers=" + std::to_string(policy.sharers) + " allows";
  if (policy.with == sharing::With::kSameNamespace && (namespaces.size() > 1 || namespaces.contains("")))
    return "another namespace has a share of it, which with=same-namespace does not allow";
  if (policy.with == sharing::With::kNamespaces)
    for (const std::string_view ns : namespaces)
      if (!std::binary_search(policy.namespaces.begin(), policy.namespaces.end(), ns))
        return "with=namespaces: does not name every namespace that would share it";
  for (const Party& one : parties) {
    if (one.device_class != device_class || !one.takes) continue;
    if (policy.shares > 0 && one.shares > policy.shares)
      return "the namespace has as many of its shares as per-namespace=" + std::to_string(policy.shares) + " allows";
    for (size_t i = 0; policy.percent > 0 && i < one.sums.size() && i < shape.entries.size(); ++i)
      if (one.sums[i] * 100 > shape.entries[i].amount * static_cast<Amount>(policy.percent))
        return "the namespace would have more of its " + shape.entries[i].name +
               " than per-namespace=" + std::to_string(policy.percent) + "% allows";
  }
  return "";
}

std::string Shares::refused_by_policies(const Pool& pool, uint32_t device, std::span<const ShareTaker> takers) const {
  std::vector<Party> parties;
  for (const ShareTaker& taker : takers) {
    if (const std::string wrong = why_unreadable(taker.ask->device_class); !wrong.empty()) return wrong;
    add_party(parties, {taker.ask->ns, taker.ask->device_class, 1, *taker.amounts, true});
  }
  if (const std::vector<SharedTerms>* shares = pool.shared_terms(device))
    for (const SharedTerms& one : *shares) {
      const ShareTerms terms = read_share(strings_.text(one.terms));
      add_party(parties, {terms.ns, terms.device_class, one.shares, one.sums, false});
    }
  std::set<std::string_view> done;
  for (const Party& one : parties) {
    const auto found = policies_.find(one.device_class);
    if (found == policies_.end() || !found->second.wrong.empty() || !done.insert(one.device_class).second) continue;
    std::string broken = broken_policy(found->first, found->second, parties, pool.shape(device));
    if (!broken.empty())
      return broken + " (annotation " + std::string(sharing::kSharesAnnotation) + " of DeviceClass " + found->first +
             "); wait for a share, ask another class, or change the annotation";
  }
  return "";
}

bool Shares::admits(const Pool& pool, uint32_t device, std::span<const ShareTaker> takers, std::string* why) const {
  if (takers.empty()) return true;
  std::string refused = refused_by_parameters(pool, device, takers);
  if (refused.empty() && !policies_.empty()) refused = refused_by_policies(pool, device, takers);
  const bool admitted = refused.empty();
  if (why != nullptr) *why = std::move(refused);
  return admitted;
}

bool Shares::apply_class(const std::string& name, const api::StringMap& annotations) {
  const auto said = annotations.find(std::string(sharing::kSharesAnnotation));
  if (said == annotations.end()) return remove_class(name);
  const auto [known, fresh] = policies_.try_emplace(name);
  if (!fresh && known->second.text == said->second) return false;
  ClassPolicy& of = known->second;
  of.text = said->second;
  of.wrong = sharing::parse_policy(said->second, of.policy).value_or("");
  ++policies_version_;
  return true;
}

bool Shares::remove_class(std::string_view name) {
  const auto known = policies_.find(name);
  if (known == policies_.end()) return false;
  policies_.erase(known);
  ++policies_version_;
  return true;
}

std::string Shares::why_unreadable(std::string_view device_class) const {
  const auto found = policies_.find(device_class);
  if (found == policies_.end() || found->second.wrong.empty()) return "";
  return "annotation " + std::string(sharing::kSharesAnnotation) + " of DeviceClass " + found->first +
         " cannot be read, so the class gives no shares: " + found->second.wrong;
}

std::string Shares::conflict(const Pool& pool, uint32_t device, bool observed_only, bool policies) const {
  const auto found = pool.holders.find(pool.device_name(device));
  if (found == pool.holders.end() || !pool.shareable(device)) return "";
  const bool compares = rules_.compares(pool.driver_text), never = never_twice(pool.driver_text, false);
  policies = policies && !policies_.empty();
  if (!compares && !never && !policies) return "";
  std::vector<HolderRef> shares;
  std::vector<ClaimIndex> claims;
  const HolderRef* first = nullptr;
  std::string what;
  for (const HolderRef& holder : found->second) {
    // What is kept for somebody has no claim, and none of its parameters.
    if (holder.terms == kNoStr || (observed_only && !holder.observed) ||
        read_share(strings_.text(holder.terms)).ns.empty())
      continue;
    claims.push_back(holder.claim);
    if (policies) shares.push_back(holder);
    if (first == nullptr) first = &holder;
    const std::string_view one = read_share(strings_.text(first->terms)).parameters,
                           other = read_share(strings_.text(holder.terms)).parameters;
    if (compares && what.empty() && one != other)
      what = "is shared by claims with different parameters for its driver, which refuses that (" + shown(one) +
             " and " + shown(other) + ")";
  }
  std::sort(claims.begin(), claims.end());
  if (what.empty() && never && std::adjacent_find(claims.begin(), claims.end()) != claims.end())
    what = "is in one claim for two requests, which its driver refuses";
  if (!what.empty() || !policies) return what;
  std::vector<Party> parties;
  for (const SharedTerms& one : pool.sum_terms(device, shares)) {
    const ShareTerms terms = read_share(strings_.text(one.terms));
    add_party(parties, {terms.ns, terms.device_class, one.shares, one.sums, true});
  }
  for (const Party& one : parties)
    if (const auto own = policies_.find(one.device_class); own != policies_.end() && own->second.wrong.empty())
      if (std::string broken = broken_policy(own->first, own->second, parties, pool.shape(device)); !broken.empty())
        return "is shared as DeviceClass " + own->first + " does not allow: " + broken;
  return what;
}

}  // namespace dra::inventory
