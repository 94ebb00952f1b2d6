#include "pkg/apiserver/rest/request.h"

#include "pkg/base/strings.h"
#include "pkg/base/utf8.h"

namespace dra::apiserver {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool percent_decode(std::string_view text, bool plus_is_space, std::string& out) {
  out.clear();
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return false;
      const int hi = hex_digit(text[i + 1]);
      const int lo = hex_digit(text[i + 2]);
      if (hi < 0 || lo < 0) return false;
      out += static_cast<char>(hi * 16 + lo);
      i += 2;
    } else if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else {
      out += text[i];
    }
  }
  // This text goes into objects, which are always UTF-8.
  if (!is_valid_utf8(out)) out = valid_utf8(out);
  return true;
}

Query Query::parse(std::string_view text) {
  Query q;
  for (const auto& pair : split(text, '&')) {
    if (pair.empty() || pair.find(';') != std::string::npos) continue;  // like net/url
    const size_t eq = pair.find('=');
    std::string name;
    std::string value;
    if (!percent_decode(std::string_view(pair).substr(0, eq), true, name)) continue;
    if (eq != std::string::npos && !percent_decode(std::string_view(pair).substr(eq + 1), true, value)) continue;
    q.values_.emplace_back(std::move(name), std::move(value));
  }
  return q;
}

const std::string& Query::get(std::string_view name) const {
  static const std::string kEmpty;
  for (const auto& [n, v] : values_) {
    if (n == name) return v;
  }
  return kEmpty;
}

bool Query::has(std::string_view name) const {
  for (const auto& [n, v] : values_) {
    if (n == name) return true;
  }
  return false;
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [n, v] : values_) {
    if (n == name) out.push_back(v);
  }
  return out;
}

bool Query::flag(std::string_view name) const {
  const std::string& v = get(name);
  return !v.empty() && v != "0" && to_lower(v) != "false";
}

bool parse_path(std::string_view path, RequestPath& out) {
  std::string& decoded = out.text;
  if (!percent_decode(path, false, decoded)) return false;
  for (auto& part : split(decoded, '/')) {
    if (!part.empty()) out.parts.push_back(std::move(part));
  }
  const bool hole = decoded.find("//") != std::string::npos;
  const auto& p = out.parts;
  size_t at = 0;
  if (p.size() >= 2 && p[0] == "api") {
    out.gv = {"", p[1]};
    at = 2;
  } else if (p.size() >= 3 && p[0] == "apis") {
    out.gv = {p[1], p[2]};
    at = 3;
  } else {
    return true;
  }
  if (at < p.size() && p[at] == "watch") {
    out.old_watch = true;
    ++at;
  }
  if (at >= p.size()) return true;
  out.is_resource = true;
  // /namespaces/NS/RESOURCE..., but /namespaces/NS and its subresources are the namespace itself.
  const bool namespace_sub = at + 2 < p.size() && (p[at + 2] == "status" || p[at + 2] == "finalize");
  if (p[at] == "namespaces" && at + 2 < p.size() && !namespace_sub) {
    out.namespace_ = p[at + 1];
    at += 2;
  }
  out.resource = p[at++];
  if (at < p.size()) out.name = p[at++];
  if (at < p.size()) out.subresource = p[at++];
  out.too_deep = at < p.size() || hole;
  return true;
}

std::string flow_of(const std::string& target) {
  RequestPath path;
  if (!parse_path(std::string_view(target).substr(0, target.find('?')), path)) return "";
  return path.resource == "namespaces" ? path.name : path.namespace_;
}

}  // namespace dra::apiserver
