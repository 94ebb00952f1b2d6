#include "pkg/inspect/source/redact_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace dra::inspect {
namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

bool has_digit(std::string_view word) {
  return std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "15", "5m11s", "0.25", "80Gi", "2026-11-27T17:00:00Z" in pieces; no "10.0.0.7".
bool is_amount(std::string_view word) {
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) == 0) return false;
  size_t letters = 0;
  for (const unsigned char c : word) letters += std::isalpha(c) != 0;
  return letters <= 3 && std::count(word.begin(), word.end(), '.') <= 1 && word.find('_') == std::string_view::npos;
}

bool is_own_word(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kBeginnings{"--",         "dra_",         "dra-controller-manager",
                                                               "workqueue_", "rest_client_", "leader_election_",
                                                               "process_",   "kube-",        "kubectl"};
  static constexpr std::array<std::string_view, 4> kEnds{".k8s.io", ".kubernetes.io", ".cc", "_total"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(), [&](auto one) { return word.starts_with(one); }) ||
         std::any_of(kEnds.begin(), kEnds.end(), [&](auto one) { return word.ends_with(one); });
}

// Keys whose values are sentences.
bool is_of_sentences(std::string_view key) {
  static constexpr std::array<std::string_view, 12> kKeys{"msg",    "err",  "why",    "note", "reason", "level",
                                                          "logger", "text", "action", "type", "what",   "what_to_do"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

class TextRedactor {
 public:
  TextRedactor(const Redactor& redactor, std::string_view text, const NamesGone& gone)
      : redactor_(redactor), text_(text), gone_(gone) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        quoted_ = value_ = false;
      } else if (c == '"' && (at_ == 0 || text_[at_ - 1] != '\\')) {
        quote();
      }
      if (in_name(c))
        word();
      else
        out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  // A quoted text is a value after "=" or ":", otherwise perhaps a key.
  void quote() {
    quoted_ = !quoted_;
    if (!quoted_) {
      value_ = false;
      return;
    }
    const char before = at_ == 0 ? ' ' : text_[at_ - 1];
    value_ = (before == '=' || before == ':') && !is_of_sentences(key_);
  }

  void word() {
    const size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    std::string_view tail;
    while (word.ends_with('.')) {
      tail = text_.substr(begin + word.size() - 1, at_ - begin - word.size() + 1);
      word.remove_suffix(1);
    }
    const char next = at_ < text_.size() ? text_[at_] : ' ';
    const bool is_key =
        next == '=' || (quoted_ && !value_ && next == '"' && at_ + 1 < text_.size() && text_[at_ + 1] == ':');
    if (is_key) key_ = word;
    out_ += is_key ? std::string(word) : replaced(word);
    out_ += tail;
  }

  std::string replaced(std::string_view word) const {
    if (is_count(word)) return std::string(word);
    if (const auto fresh = redactor_.renamed_text(word)) return *fresh;
    if (gone_.contains(word) && !is_own_word(word)) return std::string(kLeftOut);
    if (word.empty() || is_amount(word) || is_api_word(word) || is_known_key(word) || is_own_word(word))
      return std::string(word);
    const bool plain = !has_digit(word) && word.find_first_of("-._") == std::string_view::npos;
    return plain && !value_ ? std::string(word) : std::string(kLeftOut);
  }

  // A number that is not the whole of a name: also the value of some label, it may be, but no sentence is about that.
  bool is_count(std::string_view word) const {
    return !value_ && word.size() <= 3 &&
           std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; }) &&
           !redactor_.renamed(Word::kNamespace, word) && !redactor_.renamed(Word::kPod, word) &&
           !redactor_.renamed(Word::kNode, word);
  }

  const Redactor& redactor_;
  std::string_view text_;
  const NamesGone& gone_;
  size_t at_ = 0;
  bool quoted_ = false, value_ = false;
  std::string_view key_;
  std::string out_;
};

}  // namespace

std::string redact_text(const Redactor& redactor, std::string_view text, const NamesGone& gone) {
  return TextRedactor(redactor, text, gone).run();
}

}  // namespace dra::inspect
