// Writes JSON as text, member by member, without a tree of it in between.
//
//   JsonText out;
//   out.object([&] {
//     out.member("name", pod.name);
//     out.object("metadata", [&] { out.member("uid", pod.uid); });
//     out.array("gates", [&] { for (const std::string& gate : gates) out.value(gate); });
//     out.raw("parameters", text);   // as it is
//   });
//   std::string body = std::move(out).text();
//
// Compact: no blanks. Members stand in the order of the calls; a name that is given twice stands there twice. Strings
// need not be UTF-8: other bytes become U+FFFD. For texts that are only written: nlohmann::json builds a tree of the
// same, and its lists in braces copy every part of it at each level. Not thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace dra {

class JsonText {
 public:
  // Calls `members`, which adds to the object. The first form is for the document and for elements of an array.
  template <std::invocable F>
  void object(F&& members) {
    open('{');
    members();
    close('}');
  }
  template <std::invocable F>
  void object(std::string_view name, F&& members) {
    key(name);
    object(members);
  }
  template <std::invocable F>
  void array(F&& elements) {
    open('[');
    elements();
    close(']');
  }
  template <std::invocable F>
  void array(std::string_view name, F&& elements) {
    key(name);
    array(elements);
  }

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(bool truth);
  void value(std::signed_integral auto number) { number_text(static_cast<int64_t>(number)); }
  void null();
  // JSON text of any size and depth, as it is: the caller answers for its being valid.
  void raw(std::string_view json);

  // The next value's name, for a value that a function of its own writes.
  void key(std::string_view name);
  template <class T>
  void member(std::string_view name, const T& of) {
    key(name);
    value(of);
  }
  void null(std::string_view name) {
    key(name);
    null();
  }
  void raw(std::string_view name, std::string_view json) {
    key(name);
    raw(json);
  }

  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void number_text(int64_t number);
  void quoted(std::string_view text);

  std::string text_;
  bool separator_ = false;  // a value stands before the next one, in the same object or array
};

}  // namespace dra
