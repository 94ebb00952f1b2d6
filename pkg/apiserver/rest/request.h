// The target of a request: its path and query, parsed (k8s.io/apiserver/pkg/endpoints/request).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

// Query parameters in order, percent-decoded.
class Query {
 public:
  static Query parse(std::string_view text);
  // The first value; "" if absent.
  const std::string& get(std::string_view name) const;
  bool has(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  // "", "0" and "false" are false, everything else is true (conversion of string slices to bool).
  bool flag(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

struct RequestPath {
  std::string text;                // decoded
  std::vector<std::string> parts;  // parts of `text`; empty ones dropped
  // Of resource requests (below /api/VERSION or /apis/GROUP/VERSION):
  bool is_resource = false;
  GroupVersion gv;
  std::string namespace_;
  std::string resource;  // plural
  std::string name;
  std::string subresource;
  bool old_watch = false;  // /api/v1/watch/...
  bool too_deep = false;   // more parts than any resource path has
};

// `path`: the request target without the query. False if the percent-encoding is broken.
bool parse_path(std::string_view path, RequestPath& out);
// For http::ServerOptions::flow: the namespace of the request, or "".
std::string flow_of(const std::string& target);
// The bytes that the escapes encode; bytes that are not UTF-8 become U+FFFD.
bool percent_decode(std::string_view text, bool plus_is_space, std::string& out);

}  // namespace dra::apiserver
