#include "pkg/alignment/group_rails.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::alignment {

namespace {

using Kind = Refusal::Kind;

const std::string* text_of(const api::StringMap* annotations, std::string_view key) {
  if (annotations == nullptr || annotations->empty()) return nullptr;
  const auto found = annotations->find(key);
  return found == annotations->end() ? nullptr : &found->second;
}

// An annotation whose text is valid; its names are not resolved yet.
struct Text {
  std::optional<uint32_t> member;  // unset: the PodGroup
  std::vector<Entry> entries;
};

class GroupReader {
 public:
  GroupReader(const api::StringMap* pod_group, std::span<const RailMember> members)
      : pod_group_(pod_group), members_(members) {
    for (const RailMember& member : members) {
      std::vector<NamedClaim>& named = named_.emplace_back();
      for (const ClaimName& name : member.names) named.push_back({name.name, member.claims[name.claim]});
    }
  }

  GroupRails run(bool pairs) {
    const bool refused = (pairs && !pair_texts_hold()) || !read(false) || (pairs && !pair_names_hold()) || !add(false);
    if (!refused) {
      read(true);
      add(true);
      drop_unbound();
    }
    return std::move(out_);
  }

 private:
  bool refuse(Refusal refusal, std::optional<uint32_t> member) {
    out_.rules.clear();
    out_.refusal = std::move(refusal);
    out_.refused_member = member;
    return false;
  }

  // The texts of pairs are judged before any names are.
  bool pair_texts_hold() {
    for (uint32_t m = 0; m < members_.size(); ++m) {
      const RailMember& member = members_[m];
      size_t entries = 0;
      const auto holds = [&](const std::string* text, Place place) {
        if (text == nullptr) return true;
        Reading reading = read_entries(kPairsAnnotation, *text, place, entries);
        entries += reading.entries.size();
        return !reading.refusal || refuse(std::move(*reading.refusal), m);
      };
      for (const api::ResourceClaim* claim : member.claims)
        if (!claim->status.allocation && !holds(text_of(&claim->metadata.annotations, kPairsAnnotation), Place::kClaim))
          return false;
      if (!holds(text_of(member.annotations, kPairsAnnotation), Place::kPod)) return false;
    }
    return true;
  }

  bool pair_names_hold() {
    for (uint32_t m = 0; m < members_.size(); ++m) {
      PodPairs pairs = read_pod_pairs(*members_[m].annotations, members_[m].claims, members_[m].names);
      if (pairs.refusal) return refuse(std::move(*pairs.refusal), m);
    }
    return true;
  }

  // False: a hard text is refused.
  bool read(bool soft) {
    texts_.clear();
    const std::string_view key = soft ? kPreferredRailsAnnotation : kRailsAnnotation;
    const auto read_one = [&](const api::StringMap* annotations, std::optional<uint32_t> member) {
      const std::string* text = text_of(annotations, key);
      if (text == nullptr) return true;
      Reading reading = read_entries(key, *text, member ? Place::kPod : Place::kPodGroup);
      if (!reading.refusal) {
        texts_.push_back({member, std::move(reading.entries)});
      } else if (!soft) {
        return refuse(std::move(*reading.refusal), member);
      } else {
        out_.ignored.emplace_back(member, std::move(*reading.refusal));
      }
      return true;
    };
    if (!read_one(pod_group_, std::nullopt)) return false;
    for (uint32_t m = 0; m < members_.size(); ++m)
      if (!read_one(members_[m].annotations, m)) return false;
    return true;
  }

  // Resolves the names and makes rules. False: a hard annotation is refused.
  bool add(bool soft) {
    const std::string_view key = soft ? kPreferredRailsAnnotation : kRailsAnnotation;
    for (const Text& text : texts_) {
      std::optional<Refusal> refusal;
      for (const Entry& entry : text.entries) {
        refusal = text.member ? resolve(key, entry, Place::kPod, named_[*text.member]).refusal : judge(key, entry);
        if (refusal) break;
      }
      if (refusal && !soft) return refuse(std::move(*refusal), text.member);
      if (refusal) {
        out_.ignored.emplace_back(text.member, std::move(*refusal));
        continue;
      }
      for (const Entry& entry : text.entries) add_entry(entry, text.member, soft);
    }
    return true;
  }

  // A PodGroup's entry: each term must be known to some member.
  std::optional<Refusal> judge(std::string_view key, const Entry& entry) const {
    for (const Term& term : entry.terms) {
      const bool known = std::any_of(named_.begin(), named_.end(),
                                     [&](const auto& claims) { return find_term(term, claims).has_value(); });
      if (!known)
        return refuse_names(Kind::kUnknown, key, entry, term.claim + "/" + term.request,
                            "names " + quote(term.claim + "/" + term.request) +
                                ", a claim and request that no member of the group has; name one of a member's "
                                "spec.resourceClaims");
    }
    for (uint32_t m = 0; m < members_.size(); ++m) {
      const std::vector<RailRequest> requests = requests_of(entry, m);
      for (size_t i = 0; i < requests.size(); ++i)
        if (std::find(requests.begin(), requests.begin() + static_cast<ptrdiff_t>(i), requests[i]) !=
            requests.begin() + static_cast<ptrdiff_t>(i))
          return refuse_names(Kind::kTwice, key, entry, requests[i].request,
                              "names request " + quote(requests[i].request) +
                                  " of a member twice, by two names of one claim; name it once");
    }
    return check_attribute(key, entry);
  }

  std::vector<RailRequest> requests_of(const Entry& entry, uint32_t m) const {
    std::vector<RailRequest> out;
    for (const Term& term : entry.terms) {
      const std::optional<ResolvedTerm> found = find_term(term, named_[m]);
      if (!found) continue;
      const uint32_t claim = members_[m].names[found->claim].claim;
      out.push_back({claim, members_[m].claims[claim]->spec.requests[found->request].name});
    }
    return out;
  }

  // The PodGroup's entries come first, so that a pod's own replace them.
  void add_entry(const Entry& entry, std::optional<uint32_t> member, bool soft) {
    auto rule = std::find_if(out_.rules.begin(), out_.rules.end(),
                             [&](const RailRule& one) { return one.soft == soft && one.attribute == entry.attribute; });
    if (rule == out_.rules.end()) {
      RailRule& made = out_.rules.emplace_back();
      made.attribute = entry.attribute;
      made.soft = soft;
      made.text = entry.text;
      made.of.resize(members_.size());
      rule = out_.rules.end() - 1;
    }
    if (member) {
      rule->of[*member] = requests_of(entry, *member);
      return;
    }
    for (uint32_t m = 0; m < members_.size(); ++m) rule->of[m] = requests_of(entry, m);
  }

  void drop_unbound() {
    std::erase_if(out_.rules, [](const RailRule& rule) {
      return std::all_of(rule.of.begin(), rule.of.end(), [](const auto& requests) { return requests.empty(); });
    });
  }

  const api::StringMap* pod_group_;
  std::span<const RailMember> members_;
  std::vector<std::vector<NamedClaim>> named_;  // by member
  std::vector<Text> texts_;
  GroupRails out_;
};

}  // namespace

bool has_rails(const api::StringMap& annotations) {
  return text_of(&annotations, kRailsAnnotation) != nullptr ||
         text_of(&annotations, kPreferredRailsAnnotation) != nullptr;
}

GroupRails read_group_rails(const api::StringMap* pod_group, std::span<const RailMember> members, bool pairs) {
  return GroupReader(pod_group, members).run(pairs);
}

}  // namespace dra::alignment
