// URLs as Go's net/url reads them and k8s.io/apiserver/pkg/cel/library urls.go restricts them: absolute ones and
// absolute paths only.
//
// Plain values; all functions are pure and safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/cel/lib/outcome.h"

namespace dra::cel::lib {

struct Url {
  std::string scheme;        // lower case
  std::string host;          // with port and brackets, without user info
  std::string escaped_path;  // as written if that is a valid encoding, else encoded
  std::string raw_query;     // without '?'
  std::string text;          // String(): what == compares

  std::string_view hostname() const;  // without port and brackets
  std::string_view port() const;      // "" when there is none

  // Name -> values in order, by name; pairs that cannot be decoded are dropped.
  std::vector<std::pair<std::string, std::vector<std::string>>> query() const;

  bool operator==(const Url& other) const { return text == other.text; }
};

Outcome<Url> parse_url(std::string_view text);
// net/url.ParseRequestURI: the first of the two parsers, and what format.uri() accepts. Empty when fine, else Go's
// text.
std::string check_request_uri(std::string_view text);

}  // namespace dra::cel::lib
