// The reasons of events and conditions: a closed set, each with its meaning. docs/user/reference.md is made from it.
//
//   Event{ref_of(pod), false, "Allocated", ...}                       // compiles: it is in the set
//   Event{ref_of(pod), false, "Alocated", ...}                        // does not compile
//   condition.reason = condition_reason("EvictionInProgress", "NotStarted");
//
// A new reason is a line in reasons_table.h. Nothing here allocates; all of it is thread-safe.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "pkg/reconcile/reasons_table.h"

namespace dra::reconcile {

// The reason of an event, one of kEventMeanings: text that is not in the table does not compile. Empty: no event.
class EventReason {
 public:
  constexpr EventReason() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a literal denotes its entry in the table.
  consteval EventReason(const char* text) : text_(described(text)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval EventReason(std::string_view text) : text_(described(text)) {}

  // NOLINTNEXTLINE(google-explicit-constructor): read as text everywhere.
  constexpr operator std::string_view() const { return text_; }
  std::string str() const { return std::string(text_); }
  constexpr bool empty() const { return text_.empty(); }

  friend bool operator==(const EventReason& a, const EventReason& b) { return a.text_ == b.text_; }
  template <class Text>
  requires(std::convertible_to<Text, std::string_view> && !std::same_as<Text, EventReason>) friend bool operator==(
      const EventReason& a, const Text& b) {
    return a.text_ == std::string_view(b);
  }
  friend std::string operator+(std::string_view a, const EventReason& b) { return std::string(a) + b.str(); }
  friend std::string operator+(const EventReason& a, std::string_view b) { return a.str() + std::string(b); }

 private:
  // The entry's own text, which lives as long as the program.
  static consteval std::string_view described(std::string_view text) {
    for (const EventMeaning& meaning : kEventMeanings)
      if (meaning.reason == text) return meaning.reason;
    throw "this reason is not in kEventMeanings (pkg/reconcile/reasons_table.h)";
  }

  std::string_view text_;
};

// The reason of a condition of this type: text that is not in the table does not compile.
consteval std::string_view condition_reason(std::string_view type, std::string_view reason) {
  for (const ConditionMeaning& meaning : kConditionMeanings)
    if (meaning.type == type && meaning.reason == reason) return meaning.reason;
  throw "this reason is not in kConditionMeanings (pkg/reconcile/reasons_table.h)";
}

}  // namespace dra::reconcile
