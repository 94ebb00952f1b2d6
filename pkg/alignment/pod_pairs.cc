#include "pkg/alignment/pod_pairs.h"

namespace dra::alignment {

namespace {

const std::string* pairs_text(const api::StringMap& annotations) {
  if (annotations.empty()) return nullptr;
  const auto found = annotations.find(std::string(kPairsAnnotation));
  return found == annotations.end() ? nullptr : &found->second;
}

struct Unresolved {
  Entry entry;
  std::optional<uint32_t> claim;  // that has the annotation; unset: the pod
};

}  // namespace

PodPairs read_pod_pairs(const api::StringMap& pod_annotations, std::span<const api::ResourceClaim* const> claims,
                        std::span<const ClaimName> names) {
  PodPairs out;
  std::vector<Unresolved> entries;
  const auto read = [&](const std::string& text, std::optional<uint32_t> claim) {
    Reading reading = read_entries(kPairsAnnotation, text, claim ? Place::kClaim : Place::kPod, entries.size());
    if (reading.refusal) {
      out.refusal = std::move(reading.refusal);
      out.refused_claim = claim;
      return false;
    }
    for (Entry& entry : reading.entries) entries.push_back({std::move(entry), claim});
    return true;
  };
  for (uint32_t c = 0; c < claims.size(); ++c) {
    if (claims[c]->status.allocation) continue;
    const std::string* text = pairs_text(claims[c]->metadata.annotations);
    if (text != nullptr && !read(*text, c)) return out;
  }
  if (const std::string* text = pairs_text(pod_annotations); text != nullptr && !read(*text, std::nullopt)) return out;
  if (entries.empty()) return out;
  std::vector<NamedClaim> named;
  for (const ClaimName& name : names) named.push_back({name.name, claims[name.claim]});
  for (Unresolved& one : entries) {
    const NamedClaim alone{"", one.claim ? claims[*one.claim] : nullptr};
    Resolved resolved = one.claim ? resolve(kPairsAnnotation, one.entry, Place::kClaim, {&alone, 1})
                                  : resolve(kPairsAnnotation, one.entry, Place::kPod, named);
    if (resolved.refusal) {
      out.entries.clear();
      out.refusal = std::move(resolved.refusal);
      out.refused_claim = one.claim;
      return out;
    }
    PairEntry entry;
    for (const ResolvedTerm& term : resolved.terms)
      entry.terms.push_back({one.claim ? *one.claim : names[term.claim].claim, term.request, term.number});
    entry.attribute = std::move(one.entry.attribute);
    entry.text = std::move(one.entry.text);
    out.entries.push_back(std::move(entry));
  }
  return out;
}

}  // namespace dra::alignment
