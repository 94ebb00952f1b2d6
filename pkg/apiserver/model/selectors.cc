#include "pkg/apiserver/model/selectors.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

struct SelectorToken {
  enum class Type { kEnd, kComma, kOpen, kClose, kEqual, kDoubleEqual, kNotEqual, kGreater, kLess, kNot, kWord };
  Type type = Type::kEnd;
  std::string text;
};

bool is_special(char c) {
  return std::string_view("=!(),<>").find(c) != std::string_view::npos;
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::vector<SelectorToken> scan_selector(std::string_view s) {
  using T = SelectorToken::Type;
  std::vector<SelectorToken> out;
  size_t i = 0;
  while (i < s.size()) {
    const char c = s[i];
    if (is_blank(c)) {
      ++i;
      continue;
    }
    const bool then_equal = i + 1 < s.size() && s[i + 1] == '=';
    if (c == '=') {
      out.push_back(then_equal ? SelectorToken{T::kDoubleEqual, "=="} : SelectorToken{T::kEqual, "="});
      i += then_equal ? 2 : 1;
    } else if (c == '!') {
      out.push_back(then_equal ? SelectorToken{T::kNotEqual, "!="} : SelectorToken{T::kNot, "!"});
      i += then_equal ? 2 : 1;
    } else if (is_special(c)) {
      const T type = c == ','   ? T::kComma
                     : c == '(' ? T::kOpen
                     : c == ')' ? T::kClose
                     : c == '>' ? T::kGreater
                                : T::kLess;
      out.push_back({type, std::string(1, c)});
      ++i;
    } else {
      const size_t begin = i;
      while (i < s.size() && !is_special(s[i]) && !is_blank(s[i])) ++i;
      out.push_back({T::kWord, std::string(s.substr(begin, i - begin))});
    }
  }
  out.push_back({});
  return out;
}

class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : tokens_(scan_selector(text)) {}

  // The error text, or nothing.
  std::optional<std::string> parse(std::vector<LabelRequirement>& out) {
    using T = SelectorToken::Type;
    if (peek().type == T::kEnd) return std::nullopt;
    while (true) {
      if (peek().type != T::kWord && peek().type != T::kNot) {
        return "unable to parse requirement: found '" + peek().text + "', expected: !, identifier, or 'end of string'";
      }
      LabelRequirement r;
      if (auto error = requirement(r)) return error;
      out.push_back(std::move(r));
      if (peek().type == T::kEnd) return std::nullopt;
      if (peek().type != T::kComma) return "found '" + peek().text + "', expected: ',' or 'end of string'";
      next();
      if (peek().type != T::kWord && peek().type != T::kNot) {
        return "found '" + peek().text + "', expected: identifier after ','";
      }
    }
  }

 private:
  const SelectorToken& peek() const { return tokens_[at_]; }
  SelectorToken next() {
    SelectorToken t = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }

  std::optional<std::string> requirement(LabelRequirement& r) {
    using T = SelectorToken::Type;
    using Op = LabelRequirement::Operator;
    const bool negated = peek().type == T::kNot;
    if (negated) next();
    const SelectorToken key = next();
    if (key.type != T::kWord) return "unable to parse requirement: found '" + key.text + "', expected: identifier";
    r.key = key.text;
    // Upstream's parser has no field path for the key.
    if (const auto wrong = api::qualified_name_problems(r.key); !wrong.empty()) {
      return "unable to parse requirement: <nil>: Invalid value: " + quote(r.key) + ": " + join(wrong, "; ");
    }
    if (negated || peek().type == T::kEnd || peek().type == T::kComma) {
      r.op = negated ? Op::kNotExists : Op::kExists;
      return std::nullopt;
    }
    const SelectorToken op = next();
    if (op.type == T::kWord && (op.text == "in" || op.text == "notin")) {
      r.op = op.text == "in" ? Op::kIn : Op::kNotIn;
      return value_set(r);
    }
    switch (op.type) {
      case T::kEqual:
      case T::kDoubleEqual:
        r.op = Op::kIn;
        break;
      case T::kNotEqual:
        r.op = Op::kNotIn;
        break;
      case T::kGreater:
        r.op = Op::kGreater;
        break;
      case T::kLess:
        r.op = Op::kLess;
        break;
      default:
        return "unable to parse requirement: found '" + op.text + "', expected: in, notin, =, ==, !=, gt, lt";
    }
    if (peek().type == T::kEnd || peek().type == T::kComma) {
      r.values.push_back("");
    } else {
      const SelectorToken value = next();
      if (value.type != T::kWord)
        return "unable to parse requirement: found '" + value.text + "', expected: identifier";
      r.values.push_back(value.text);
    }
    return check_values(r);
  }

  std::optional<std::string> value_set(LabelRequirement& r) {
    using T = SelectorToken::Type;
    if (peek().type != T::kOpen) return "unable to parse requirement: found '" + peek().text + "' expected: '('";
    next();
    bool expect_value = true;
    while (true) {
      const SelectorToken t = next();
      if (t.type == T::kWord && expect_value) {
        r.values.push_back(t.text);
        expect_value = false;
      } else if (t.type == T::kComma) {
        if (expect_value) r.values.push_back("");
        expect_value = true;
      } else if (t.type == T::kClose) {
        if (expect_value) r.values.push_back("");
        break;
      } else {
        return "unable to parse requirement: found '" + t.text + "', expected: ',' or ')'";
      }
    }
    std::sort(r.values.begin(), r.values.end());
    r.values.erase(std::unique(r.values.begin(), r.values.end()), r.values.end());
    return check_values(r);
  }

  static std::optional<std::string> check_values(const LabelRequirement& r) {
    using Op = LabelRequirement::Operator;
    if (r.op == Op::kGreater || r.op == Op::kLess) {
      int64_t number = 0;
      const std::string& v = r.values[0];
      const auto [end, ec] = std::from_chars(v.data(), v.data() + v.size(), number);
      if (ec != std::errc() || end != v.data() + v.size()) {
        return "values[0]: Invalid value: " + quote(v) + ": for 'Gt', 'Lt' operators, the value must be an integer";
      }
    }
    std::vector<std::string> wrong;
    for (size_t i = 0; i < r.values.size(); ++i) {
      const auto problems = api::label_value_problems(r.values[i]);
      if (problems.empty()) continue;
      wrong.push_back("values[" + std::to_string(i) + "][" + r.key + "]: Invalid value: " + quote(r.values[i]) + ": " +
                      join(problems, "; "));
    }
    if (wrong.empty()) return std::nullopt;
    const std::string all = join(wrong, ", ");
    return "unable to parse requirement: " + (wrong.size() == 1 ? all : "[" + all + "]");
  }

  std::vector<SelectorToken> tokens_;
  size_t at_ = 0;
};

bool compare_numbers(const std::string& have, const std::string& want, bool greater) {
  int64_t a = 0;
  int64_t b = 0;
  const auto [end, ec] = std::from_chars(have.data(), have.data() + have.size(), a);
  if (ec != std::errc() || end != have.data() + have.size()) return false;
  std::from_chars(want.data(), want.data() + want.size(), b);
  return greater ? a > b : a < b;
}

bool holds(const LabelRequirement& r, const Json& labels) {
  using Op = LabelRequirement::Operator;
  const std::string* have = nullptr;
  if (labels.is_object()) {
    auto it = labels.find(r.key);
    if (it != labels.end() && it->is_string()) have = &it->get_ref<const std::string&>();
  }
  auto listed = [&] { return std::find(r.values.begin(), r.values.end(), *have) != r.values.end(); };
  switch (r.op) {
    case Op::kIn:
      return have != nullptr && listed();
    case Op::kNotIn:
      return have == nullptr || !listed();
    case Op::kExists:
      return have != nullptr;
    case Op::kNotExists:
      return have == nullptr;
    case Op::kGreater:
    case Op::kLess:
      return have != nullptr && compare_numbers(*have, r.values[0], r.op == Op::kGreater);
  }
  return false;
}

// Splits at unescaped commas; escapes stay in the parts.
std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out.back() += text[i];
      out.back() += text[++i];
    } else if (text[i] == ',') {
      out.emplace_back();
    } else {
      out.back() += text[i];
    }
  }
  return out;
}

// The value without its escapes (\\, \, \=); other escapes and bare commas and equal signs are refused.
StatusOr<std::string> unescape(std::string_view text) {
  constexpr std::string_view kSpecial = "\\,=";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const std::string_view sequence = text.substr(i, 2);
      if (sequence.size() < 2 || kSpecial.find(sequence[1]) == std::string_view::npos) {
        return fail_status(bad_request("invalid field selector: invalid escape sequence: " + std::string(sequence)));
      }
      ++i;
    } else if (kSpecial.find(text[i]) != std::string_view::npos) {
      return fail_status(bad_request("invalid field selector: unescaped character in value: " +
                                     std::to_string(static_cast<int>(text[i]))));
    }
    out += text[i];
  }
  return out;
}

}  // namespace

StatusOr<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector s;
  LabelParser parser(text);
  if (auto error = parser.parse(s.requirements_)) return fail_status(bad_request(*error));
  return s;
}

bool LabelSelector::matches(const Json& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const auto& r) { return holds(r, labels); });
}

StatusOr<std::vector<FieldSelector::Term>> FieldSelector::parse_terms(std::string_view text) {
  std::vector<Term> terms;
  for (const auto& part : split_terms(text)) {
    if (part.empty()) continue;
    Term term;
    const size_t eq = part.find('=');
    if (eq == std::string::npos) {
      return fail_status(bad_request("invalid selector: '" + std::string(text) + "'; can't understand '" + part + "'"));
    }
    term.equal = eq == 0 || part[eq - 1] != '!';
    term.label = part.substr(0, term.equal ? eq : eq - 1);
    const bool doubled = term.equal && eq + 1 < part.size() && part[eq + 1] == '=';
    auto value = unescape(std::string_view(part).substr(eq + (doubled ? 2 : 1)));
    if (!value) return fail_status(value.error());
    term.value = std::move(*value);
    terms.push_back(std::move(term));
  }
  return terms;
}

StatusOr<FieldSelector> FieldSelector::parse(std::string_view text, const Kind& kind, const GroupVersion& gv) {
  FieldSelector s;
  if (text.empty()) return s;
  auto terms = parse_terms(text);
  if (!terms) return fail_status(terms.error());
  const auto labels = kind.field_labels(gv);
  for (const Term& term : *terms) {
    const bool known = term.label == "metadata.name" ||
                       (term.label == "metadata.namespace" && kind.info().namespaced) ||
                       std::find(labels.begin(), labels.end(), term.label) != labels.end();
    if (!known) return fail_status(bad_request(kind.unknown_field_label(term.label, gv)));
  }
  s.terms_ = std::move(*terms);
  return s;
}

bool FieldSelector::matches(const Json& object, const Kind& kind, const GroupVersion& gv) const {
  for (const Term& t : terms_) {
    std::string have;
    const Json& meta = object.at("metadata");
    if (t.label == "metadata.name") {
      have = meta.value("name", "");
    } else if (t.label == "metadata.namespace") {
      have = meta.value("namespace", "");
    } else {
      have = kind.field_value(object, t.label, gv);
    }
    if ((have == t.value) != t.equal) return false;
  }
  return true;
}

}  // namespace dra::apiserver
