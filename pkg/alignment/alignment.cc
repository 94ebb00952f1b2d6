#include "pkg/alignment/alignment.h"

#include <algorithm>

#include "pkg/api/names.h"
#include "pkg/base/closest.h"
#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::alignment {

namespace {

using Kind = Refusal::Kind;

constexpr size_t kMaxDomain = 63;  // as ResourceSlices allow
constexpr size_t kMaxIdentifier = 32;
constexpr size_t kShownPart = 64;

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || text.size() > kMaxIdentifier || !letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// With a domain or without.
bool is_attribute_name(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_identifier(text);
  const std::string_view domain = text.substr(0, slash);
  return domain.size() <= kMaxDomain && api::dns_subdomain_problems(domain).empty() &&
         is_identifier(text.substr(slash + 1));
}

bool is_label(std::string_view text) {
  return api::dns_label_problems(text).empty();
}

// Reads one entry. Each step says what is wrong, or nothing.
class EntryReader {
 public:
  EntryReader(std::string_view text, bool pairs, Place place) : text_(text), pairs_(pairs), place_(place) {}

  // In the order in which problems count.
  std::optional<std::pair<Kind, std::string>> read(Entry& out) {
    out.text = text_;
    if (std::string why = read_grammar(out); !why.empty()) return std::pair(Kind::kSyntax, std::move(why));
    for (const Term& term : out.terms)
      if (term.claim.empty() != (place_ == Place::kClaim)) return std::pair(Kind::kPlace, wrong_place(term));
    if (out.terms.size() > kMaxTerms)
      return std::pair(Kind::kLimit, "has " + std::to_string(out.terms.size()) + " terms; at most " +
                                         std::to_string(kMaxTerms) + " are possible");
    for (const Term& term : out.terms)
      if (term.number > kMaxNumber)
        return std::pair(Kind::kLimit, "asks for more than " + std::to_string(kMaxNumber) + " devices of " +
                                           quote(term.request) + " in a group; at most " + std::to_string(kMaxNumber) +
                                           " are possible");
    for (size_t i = 0; i < out.terms.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (out.terms[i].claim == out.terms[j].claim && out.terms[i].request == out.terms[j].request)
          return std::pair(Kind::kTwice, "names request " + quote(out.terms[i].request) +
                                             " twice; write a number of devices as " +
                                             quote(name_of(out.terms[i]) + "*2"));
    return std::nullopt;
  }

 private:
  static std::string name_of(const Term& term) {
    return term.claim.empty() ? term.request : term.claim + "/" + term.request;
  }

  std::string wrong_place(const Term& term) const {
    if (place_ == Place::kClaim)
      return "names " + quote(name_of(term)) +
             "; on a claim write the name of a request alone (an alternative of firstAvailable counts under its "
             "request's name)";
    return "names request " + quote(term.request) +
           " without its claim; write claim/request, where the claim is named as in the pod's spec.resourceClaims";
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view word() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '+') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Empty: the text is an entry.
  std::string read_grammar(Entry& out) {
    const std::string form = pairs_ ? "request+request by domain/attribute" : "claim/request by domain/attribute";
    if (text_.empty()) return "is empty; write " + form;
    for (;;) {
      skip_spaces();
      Term term;
      if (std::string why = read_term(word(), term); !why.empty()) return why;
      out.terms.push_back(std::move(term));
      const size_t after = at_;
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == '+') {
        ++at_;
        continue;
      }
      // "by" with spaces on both sides.
      if (at_ == after || text_.substr(at_, 3) != "by ")
        return "has no \" by \" and an attribute after its requests; write " + form;
      at_ += 2;
      break;
    }
    skip_spaces();
    out.attribute = text_.substr(at_);
    if (!is_attribute_name(out.attribute))
      return quote(utf8_prefix(out.attribute, kShownPart)) + " is not the name of an attribute; write domain/name";
    if (pairs_ && out.terms.size() == 1 && out.terms[0].number < 2)
      return "has a single device in a group; name another request after \"+\", or a number of at least 2 (" +
             quote(name_of(out.terms[0]) + "*2") + ")";
    return "";
  }

  std::string read_term(std::string_view text, Term& out) const {
    const std::string shown = quote(utf8_prefix(text, kShownPart));
    if (text.empty()) return "has an empty term";
    std::string_view names = text;
    if (const size_t star = text.find('*'); star != std::string_view::npos) {
      if (!pairs_) return shown + ": numbers are not possible in this annotation; all devices of a request count";
      names = text.substr(0, star);
      const std::string_view number = text.substr(star + 1);
      const bool digits = !number.empty() && number.front() != '0' &&
                          std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!digits)
        return shown + ": the number is not one of 1 to " + std::to_string(kMaxNumber) + " without leading zeros";
      constexpr size_t kSafeDigits = 9;
      out.number = number.size() > kSafeDigits ? UINT32_MAX : static_cast<uint32_t>(std::stoul(std::string(number)));
    }
    if (const size_t slash = names.find('/'); slash != std::string_view::npos) {
      out.claim = names.substr(0, slash);
      names.remove_prefix(slash + 1);
      if (!is_label(out.claim)) return shown + ": this is not the name of a claim and of a request";
    }
    out.request = names;
    if (!is_label(out.request)) return shown + ": this is not the name of a request";
    return "";
  }

  const std::string_view text_;
  const bool pairs_;
  const Place place_;
  size_t at_ = 0;
};

Refusal refusal_of(Kind kind, std::string_view annotation, std::string_view part, std::string_view what) {
  Refusal out;
  out.kind = kind;
  out.annotation = annotation;
  out.part = utf8_prefix(part, kShownPart);
  out.message = "annotation " + out.annotation + ": " + quote(out.part) + ": " + std::string(what);
  return out;
}

std::optional<Refusal> too_many_entries(std::string_view annotation, std::string_view text, bool pairs, size_t all) {
  if (all <= kMaxEntries) return std::nullopt;
  return refusal_of(Kind::kLimit, annotation, without_spaces(text),
                    (pairs ? "makes " : "has ") + std::to_string(all) + " entries" +
                        (pairs ? " of the pod and its claims together" : "") + "; at most " +
                        std::to_string(kMaxEntries) + " are possible");
}

}  // namespace

std::string_view kind_name(Refusal::Kind kind) {
  switch (kind) {
    case Kind::kLimit:
      return "limit";
    case Kind::kSyntax:
      return "syntax";
    case Kind::kPlace:
      return "place";
    case Kind::kTwice:
      return "twice";
    case Kind::kUnknown:
      return "unknown";
    case Kind::kAttribute:
      break;
  }
  return "attribute";
}

Reading read_entries(std::string_view annotation, std::string_view text, Place place, size_t entries_before) {
  Reading out;
  const auto refuse = [&](Refusal refusal) {
    out.entries.clear();
    out.refusal = std::move(refusal);
    return out;
  };
  if (text.size() > kMaxText)
    return refuse(refusal_of(Kind::kLimit, annotation, text,
                             "begins a text of more than " + std::to_string(kMaxText) + " bytes; shorten it"));
  const bool pairs = annotation == kPairsAnnotation;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view part = without_spaces(rest.substr(0, comma));
    Entry entry;
    if (auto problem = EntryReader(part, pairs, place).read(entry))
      return refuse(refusal_of(problem->first, annotation, part, problem->second));
    out.entries.push_back(std::move(entry));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (auto many = too_many_entries(annotation, text, pairs, entries_before + out.entries.size()))
    return refuse(std::move(*many));
  for (size_t i = 0; !pairs && i < out.entries.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out.entries[i].attribute == out.entries[j].attribute)
        return refuse(refusal_of(Kind::kTwice, annotation, out.entries[i].text,
                                 "names an attribute that an earlier entry names; join their requests with \"+\""));
  return out;
}

std::optional<ResolvedTerm> find_term(const Term& term, std::span<const NamedClaim> claims) {
  for (uint32_t c = 0; c < claims.size(); ++c) {
    if (!term.claim.empty() && claims[c].name != term.claim) continue;
    const auto& requests = claims[c].claim->spec.requests;
    for (uint32_t r = 0; r < requests.size(); ++r)
      if (requests[r].name == term.request) return ResolvedTerm{c, r, term.number};
    return std::nullopt;
  }
  return std::nullopt;
}

Refusal refuse_names(Refusal::Kind kind, std::string_view annotation, const Entry& entry, std::string_view part,
                     std::string_view what) {
  Refusal out = refusal_of(kind, annotation, entry.text, what);
  if (!part.empty()) out.part = utf8_prefix(part, kShownPart);
  return out;
}

std::optional<Refusal> check_attribute(std::string_view annotation, const Entry& entry) {
  if (entry.attribute.find('/') != std::string::npos) return std::nullopt;
  return refuse_names(Kind::kAttribute, annotation, entry, entry.attribute,
                      "names attribute " + quote(entry.attribute) +
                          " without a domain; write domain/name, as in resource.kubernetes.io/pcieRoot");
}

namespace {

// ": there are a and b", or the name that was probably meant.
std::string names_instead(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kFew = 5;
  if (const auto near = closest(name, names)) return " (did you mean " + quote(*near) + "?)";
  return names.empty() || names.size() > kFew ? "" : " (there are " + join(names, ", ") + ")";
}

std::string why_unknown(const Term& term, Place place, std::span<const NamedClaim> claims) {
  std::vector<std::string> names;
  if (place != Place::kClaim) {
    for (const NamedClaim& claim : claims) names.emplace_back(claim.name);
    if (std::find(names.begin(), names.end(), term.claim) == names.end())
      return "names claim " + quote(term.claim) + ", which is not in the pod's spec.resourceClaims" +
             names_instead(term.claim, names);
    names.clear();
  }
  for (const NamedClaim& claim : claims) {
    if (place != Place::kClaim && claim.name != term.claim) continue;
    for (const api::DeviceRequest& request : claim.claim->spec.requests) names.push_back(request.name);
    break;
  }
  return "names request " + quote(term.request) + ", which the claim does not have" +
         names_instead(term.request, names);
}

}  // namespace

Resolved resolve(std::string_view annotation, const Entry& entry, Place place, std::span<const NamedClaim> claims) {
  Resolved out;
  const auto refuse = [&](Refusal refusal) {
    out.terms.clear();
    out.refusal = std::move(refusal);
    return out;
  };
  for (const Term& term : entry.terms) {
    const auto found = find_term(term, claims);
    if (!found)
      return refuse(refuse_names(Kind::kUnknown, annotation, entry,
                                 term.claim.empty() ? term.request : term.claim + "/" + term.request,
                                 why_unknown(term, place, claims)));
    out.terms.push_back(*found);
  }
  for (size_t i = 0; i < out.terms.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out.terms[i].request == out.terms[j].request &&
          claims[out.terms[i].claim].claim == claims[out.terms[j].claim].claim)
        return refuse(refuse_names(Kind::kTwice, annotation, entry, entry.terms[i].claim + "/" + entry.terms[i].request,
                                   "names request " + quote(entry.terms[i].request) +
                                       " twice, by two names of one claim; name it once, with a number"));
  if (auto refusal = check_attribute(annotation, entry)) return refuse(std::move(*refusal));
  return out;
}

}  // namespace dra::alignment
