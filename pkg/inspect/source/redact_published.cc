// What drivers, classes and requests for devices say: it stays, unless the redaction is strict.
#include <algorithm>
#include <cctype>

#include "pkg/api/quantity.h"
#include "pkg/api/semver.h"
#include "pkg/inspect/source/redact.h"
#include "pkg/inspect/state/quota.h"

namespace dra::inspect {
namespace {

constexpr std::string_view kImplicitResource = "deviceclass.resource.kubernetes.io/";

bool is_core_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "pods" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

bool is_of_kubernetes(std::string_view domain) {
  return domain == "resource.kubernetes.io" || domain == "dra.net";
}

bool begins_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_identifier(char c) {
  return begins_identifier(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// A keyword, a field of `device`, or a function: only the language has those.
bool is_cel_word(std::string_view word, std::string_view expression, size_t end) {
  static const std::set<std::string_view> kWords{
      "device", "driver", "attributes", "capacity", "allowMultipleAllocations", "true", "false",
      "null",   "in",     "r",          "R"};
  return kWords.contains(word) || expression.substr(end).starts_with("(") ||
         ((word == "cel" || word == "math" || word == "strings" || word == "sets" || word == "lists") &&
          expression.substr(end).starts_with("."));
}

// A text literal of CEL that begins at `at` ('...', "...", '''...''', with an r before it or not): its content and
// where it ends.
struct TextLiteral {
  std::string content;
  size_t end = 0;
};
TextLiteral literal_at(const std::string& text, size_t at, bool raw) {
  const char quote = text[at];
  const bool triple = text.compare(at, 3, std::string(3, quote)) == 0;
  const std::string closing(triple ? 3 : 1, quote);
  TextLiteral found;
  for (at += closing.size(); at < text.size(); ++at) {
    if (text.compare(at, closing.size(), closing) == 0) {
      found.end = at + closing.size();
      return found;
    }
    if (!raw && text[at] == '\\' && at + 1 < text.size()) found.content += text[at++];
    found.content += text[at];
  }
  found.end = text.size();
  return found;
}

}  // namespace

// Also learned where it stays: texts with several names in them are taken apart by what is known.
std::string Redactor::published(Word word, const std::string& old) {
  if (old.empty()) return old;
  switch (word) {
    case Word::kAttribute:
    case Word::kCapacity:
      return qualified(word, old);
    case Word::kVersion:
      return api::Semver::parse(old) ? old : std::string(kLeftOut);
    case Word::kSelector:
      return strict_ && settled_ ? selector(old) : old;
    case Word::kResource:
      if (is_core_resource(old) || old == kClaimCount) return old;
      // In quotas.
      if (old.starts_with(kRequested))
        return std::string(kRequested) + published(Word::kResource, old.substr(kRequested.size()));
      if (old.ends_with(kDevicesOfClass))
        return published(Word::kClass, old.substr(0, old.size() - kDevicesOfClass.size())) +
               std::string(kDevicesOfClass);
      if (old.starts_with(kImplicitResource))
        return std::string(kImplicitResource) + published(Word::kClass, old.substr(kImplicitResource.size()));
      break;
    default:
      break;
  }
  const std::string fresh = name(word, old);
  return strict_ ? fresh : old;
}

// Kubernetes' own attributes stay as they are.
std::string Redactor::qualified(Word word, const std::string& old) {
  const size_t slash = old.find('/');
  if (slash == std::string::npos) {
    const std::string fresh = name(word, old);
    return strict_ ? fresh : old;
  }
  const std::string domain = old.substr(0, slash), id = old.substr(slash + 1);
  if (is_of_kubernetes(domain)) return old;
  const std::string fresh = name(Word::kDriver, domain) + "/" + name(word, id);
  return strict_ ? fresh : old;
}

// The new text of what a literal of a selector compares with; a number or a version stays.
std::string Redactor::literal(const std::string& old) const {
  if (old.empty() || is_of_kubernetes(old) || api::Quantity::parse(old) || api::Semver::parse_normalized(old))
    return old;
  for (const Word word : {Word::kDriver, Word::kText, Word::kAttribute, Word::kCapacity})
    if (const auto fresh = renamed(word, old)) return *fresh;
  const size_t slash = old.find('/');
  if (slash != std::string::npos && is_of_kubernetes(std::string_view(old).substr(0, slash))) return old;
  if (slash != std::string::npos)
    if (const auto domain = renamed(Word::kDriver, old.substr(0, slash)))
      for (const Word word : {Word::kAttribute, Word::kCapacity})
        if (const auto id = renamed(word, old.substr(slash + 1))) return *domain + "/" + *id;
  return std::string(kLeftOut);
}

// Replaces literals, the names of attributes and capacities ("].name") and variables of macros; what is left are the
// language's own words. Comments go.
std::string Redactor::selector(const std::string& old) const {
  std::string out;
  std::map<std::string, std::string> variables;
  for (size_t at = 0; at < old.size();) {
    const char c = old[at];
    if (old.compare(at, 2, "//") == 0) {
      at = std::min(old.find('\n', at), old.size());
    } else if (c == '\'' || c == '"') {
      const bool raw = !out.empty() && (out.back() == 'r' || out.back() == 'R') &&
                       (out.size() == 1 || !continues_identifier(out[out.size() - 2]));
      if (raw) out.pop_back();
      const TextLiteral found = literal_at(old, at, raw);
      out += '"' + literal(found.content) + '"';
      at = found.end;
    } else if (begins_identifier(c)) {
      size_t end = at;
      while (end < old.size() && continues_identifier(old[end])) ++end;
      const std::string word = old.substr(at, end - at);
      if (out.ends_with("].") || out.ends_with("].?")) {
        const auto attribute = renamed(Word::kAttribute, word), capacity = renamed(Word::kCapacity, word);
        out += attribute                     ? *attribute
               : capacity                    ? *capacity
               : is_cel_word(word, old, end) ? word
                                             : std::string(kLeftOut);
      } else if (is_cel_word(word, old, end)) {
        out += word;
      } else {
        out += variables.try_emplace(word, "v" + std::to_string(variables.size() + 1)).first->second;
      }
      at = end;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

}  // namespace dra::inspect
