// The rules are those of Go's net/url (1.26). A URL is taken apart once; what selectors can ask for is kept.
#include "pkg/cel/lib/url.h"

#include <algorithm>
#include <map>
#include <optional>

#include "pkg/base/strings.h"
#include "pkg/cel/lib/net.h"

namespace dra::cel::lib {

namespace {

// Which part of a URL a text belongs to: decides what must be written as %xx there.
enum class UrlPart : uint8_t { kPath, kHost, kZone, kUser, kQuery, kFragment };

bool is_url_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool one_of(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}

bool must_escape(char c, UrlPart part) {
  if (is_url_alnum(c) || one_of(c, "-_.~")) return false;
  if (part == UrlPart::kHost || part == UrlPart::kZone) return !one_of(c, "!$&'()*+,;=:[]<>\"");
  if (one_of(c, "$&+,/:;=?@")) {
    if (part == UrlPart::kPath) return c == '?';
    if (part == UrlPart::kUser) return one_of(c, "@/?:");
    return part == UrlPart::kQuery;
  }
  return part != UrlPart::kFragment || !one_of(c, "!()*");
}

std::string url_escape(std::string_view text, UrlPart part) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (!must_escape(c, part)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

int url_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Whether an escape that is well-formed may stand in this part: hosts may not hide ASCII characters.
bool escape_allowed(std::string_view escape, UrlPart part) {
  if (escape == "%25") return true;
  if (part == UrlPart::kHost) return url_hex(escape[1]) >= 8;
  if (part != UrlPart::kZone) return true;
  const char c = static_cast<char>(url_hex(escape[1]) << 4 | url_hex(escape[2]));
  return c == ' ' || !must_escape(c, UrlPart::kHost);
}

// False with the problem in `out` when the text has bad escapes or characters its part does not allow.
bool url_unescape(std::string_view text, UrlPart part, std::string& out) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      const std::string_view escape = text.substr(i, 3);
      if (escape.size() < 3 || url_hex(escape[1]) < 0 || url_hex(escape[2]) < 0 || !escape_allowed(escape, part)) {
        out = "invalid URL escape " + dra::quote(escape);
        return false;
      }
      decoded += static_cast<char>(url_hex(escape[1]) << 4 | url_hex(escape[2]));
      i += 2;
    } else if (c == '+' && part == UrlPart::kQuery) {
      decoded += ' ';
    } else {
      const bool host = part == UrlPart::kHost || part == UrlPart::kZone;
      if (host && static_cast<unsigned char>(c) < 0x80 && must_escape(c, part)) {
        out = "invalid character " + dra::quote(text.substr(i, 1)) + " in host name";
        return false;
      }
      decoded += c;
    }
  }
  out = std::move(decoded);
  return true;
}

// Everything net/url.URL holds.
struct ParsedUrl {
  std::string scheme;
  std::string opaque;
  bool has_user = false;
  std::string user;  // as String() shows it, without '@'
  std::string host;
  std::string path;
  std::string raw_path;  // only when it is not the default encoding of path
  bool omit_host = false;
  bool force_query = false;
  std::string raw_query;
  std::string fragment;
  std::string raw_fragment;
};

// Each step returns what is wrong, or an empty text.
using Problem = std::string;

Problem take_scheme(std::string_view& text, std::string& scheme) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
    if ((c >= '0' && c <= '9') || one_of(c, "+-.")) {
      if (i == 0) return {};
    } else if (c == ':') {
      if (i == 0) return "missing protocol scheme";
      scheme = dra::to_lower(text.substr(0, i));
      text.remove_prefix(i + 1);
      return {};
    } else {
      return {};
    }
  }
  return {};
}

Problem check_port(std::string_view colon_port) {
  const bool fine = colon_port.empty() ||
                    (colon_port.front() == ':' && colon_port.find_first_not_of("0123456789", 1) == std::string::npos);
  return fine ? Problem() : "invalid port " + dra::quote(colon_port) + " after host";
}

// [IPv6], with an optional zone behind "%25", and a port.
Problem parse_ip_literal(std::string_view text, std::string& host) {
  const size_t close = text.rfind(']');
  if (close == std::string_view::npos) return "missing ']' in host";
  const std::string_view colon_port = text.substr(close + 1);
  if (Problem p = check_port(colon_port); !p.empty()) return p;
  const std::string_view name = text.substr(1, close - 1);
  const size_t zone = std::min(name.find("%25"), name.size());
  std::string address;
  std::string zone_text;
  if (!url_unescape(name.substr(0, zone), UrlPart::kHost, address)) return address;
  if (!url_unescape(name.substr(zone), UrlPart::kZone, zone_text)) return zone_text;
  const std::string full = address + zone_text;
  const std::string problem = check_ip_literal(full);
  if (!problem.empty()) return problem;
  host = "[" + full + "]" + std::string(colon_port);
  return {};
}

Problem parse_host(const std::string& scheme, std::string_view text, std::string& host) {
  const size_t bracket = text.rfind('[');
  if (bracket == 0) return parse_ip_literal(text, host);
  if (bracket != std::string_view::npos) return "invalid IP-literal";
  const bool strict = scheme == "http" || scheme == "https";
  const size_t colon = strict ? text.find(':') : text.rfind(':');
  if (colon != std::string_view::npos) {
    if (Problem p = check_port(text.substr(colon)); !p.empty()) return p;
  }
  if (!url_unescape(text, UrlPart::kHost, host)) return host;
  return {};
}

Problem parse_user(std::string_view text, ParsedUrl& url) {
  const bool valid =
      std::all_of(text.begin(), text.end(), [](char c) { return is_url_alnum(c) || one_of(c, "-._:~!$&'()*+,;=%@"); });
  if (!valid) return "net/url: invalid userinfo";
  const size_t colon = text.find(':');
  std::string name;
  if (!url_unescape(text.substr(0, colon), UrlPart::kUser, name)) return name;
  url.user = url_escape(name, UrlPart::kUser);
  if (colon != std::string_view::npos) {
    std::string password;
    if (!url_unescape(text.substr(colon + 1), UrlPart::kUser, password)) return password;
    url.user += ":" + url_escape(password, UrlPart::kUser);
  }
  url.has_user = true;
  return {};
}

Problem parse_authority(std::string_view text, ParsedUrl& url) {
  const size_t at = text.rfind('@');
  const std::string_view host = at == std::string_view::npos ? text : text.substr(at + 1);
  if (Problem p = parse_host(url.scheme, host, url.host); !p.empty()) return p;
  if (at == std::string_view::npos) return {};
  return parse_user(text.substr(0, at), url);
}

Problem parse_path(std::string_view text, ParsedUrl& url) {
  if (!url_unescape(text, UrlPart::kPath, url.path)) return url.path;
  if (url_escape(url.path, UrlPart::kPath) != text) url.raw_path = text;
  return {};
}

void take_query(std::string_view& rest, ParsedUrl& url) {
  const size_t question = rest.find('?');
  if (question == std::string_view::npos) return;
  if (question + 1 == rest.size())
    url.force_query = true;
  else
    url.raw_query = rest.substr(question + 1);
  rest = rest.substr(0, question);
}

// `request`: the stricter form, of a text that needs no base and has no fragment.
Problem parse_reference(std::string_view text, bool request, ParsedUrl& url) {
  const bool control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  if (control) return "net/url: invalid control character in URL";
  if (text.empty() && request) return "empty url";
  if (text == "*") {
    url.path = "*";
    return {};
  }
  std::string_view rest = text;
  if (Problem p = take_scheme(rest, url.scheme); !p.empty()) return p;
  take_query(rest, url);
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = rest;
      return {};
    }
    if (request) return "invalid URI for request";
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos)
      return "first path segment in URL cannot contain colon";
  }
  if ((!url.scheme.empty() || (!request && !rest.starts_with("///"))) && rest.starts_with("//")) {
    const size_t slash = std::min(rest.find('/', 2), rest.size());
    if (Problem p = parse_authority(rest.substr(2, slash - 2), url); !p.empty()) return p;
    rest = rest.substr(slash);
  } else if (!url.scheme.empty() && rest.starts_with('/')) {
    url.omit_host = true;
  }
  return parse_path(rest, url);
}

Problem parse_fragment(std::string_view text, ParsedUrl& url) {
  if (!url_unescape(text, UrlPart::kFragment, url.fragment)) return url.fragment;
  if (url_escape(url.fragment, UrlPart::kFragment) != text) url.raw_fragment = text;
  return {};
}

// Whether an encoding that is not the default one may stand as it is.
bool valid_encoding(std::string_view text, UrlPart part) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return one_of(c, "!$&'()*+,;=:@[]%") || !must_escape(c, part); });
}

std::string escaped(const std::string& decoded, const std::string& raw, UrlPart part) {
  if (!raw.empty() && valid_encoding(raw, part)) return raw;
  return decoded == "*" && part == UrlPart::kPath ? decoded : url_escape(decoded, part);
}

// net/url.URL.String().
std::string url_text(const ParsedUrl& url) {
  std::string out;
  if (!url.scheme.empty()) out += url.scheme + ":";
  if (!url.opaque.empty()) {
    out += url.opaque;
  } else {
    const bool authority = !url.host.empty() || url.has_user;
    if (authority || (!url.scheme.empty() && !url.omit_host && !url.path.empty())) out += "//";
    if (url.has_user) out += url.user + "@";
    out += url_escape(url.host, UrlPart::kHost);
    const std::string path = escaped(url.path, url.raw_path, UrlPart::kPath);
    if (!path.empty() && path.front() != '/' && !url.host.empty()) out += '/';
    if (out.empty() && path.substr(0, path.find('/')).find(':') != std::string::npos) out += "./";
    out += path;
  }
  if (url.force_query || !url.raw_query.empty()) out += "?" + url.raw_query;
  if (!url.fragment.empty()) out += "#" + escaped(url.fragment, url.raw_fragment, UrlPart::kFragment);
  return out;
}

// The hostname and port of a host that parsed.
std::pair<std::string_view, std::string_view> split_host(std::string_view host) {
  const size_t colon = host.rfind(':');
  std::string_view name = host;
  std::string_view port;
  if (colon != std::string_view::npos && check_port(host.substr(colon)).empty()) {
    name = host.substr(0, colon);
    port = host.substr(colon + 1);
  }
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return {name, port};
}

Problem parse_error(std::string_view text, const Problem& problem) {
  return "parse " + dra::quote(text) + ": " + problem;
}

}  // namespace

std::string_view Url::hostname() const {
  return split_host(host).first;
}

std::string_view Url::port() const {
  return split_host(host).second;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::query() const {
  std::map<std::string, std::vector<std::string>> values;
  std::string_view rest = raw_query;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const size_t equals = pair.find('=');
    std::string name;
    std::string value;
    if (!url_unescape(pair.substr(0, equals), UrlPart::kQuery, name)) continue;
    if (equals != std::string_view::npos && !url_unescape(pair.substr(equals + 1), UrlPart::kQuery, value)) continue;
    values[name].push_back(std::move(value));
  }
  return {values.begin(), values.end()};
}

std::string check_request_uri(std::string_view text) {
  ParsedUrl url;
  const Problem problem = parse_reference(text, true, url);
  return problem.empty() ? Problem() : parse_error(text, problem);
}

Outcome<Url> parse_url(std::string_view text) {
  static const std::string kOuter = "URL parse error during conversion from string: ";
  if (const std::string problem = check_request_uri(text); !problem.empty())
    return failure(RuntimeCategory::kUrlParse, kOuter + problem);
  // The strict parser knows no fragments: a second one splits them off.
  const size_t hash = std::min(text.find('#'), text.size());
  ParsedUrl url;
  if (const Problem p = parse_reference(text.substr(0, hash), false, url); !p.empty())
    return failure(RuntimeCategory::kUrlParse, kOuter + parse_error(text.substr(0, hash), p));
  if (hash + 1 < text.size()) {
    if (const Problem p = parse_fragment(text.substr(hash + 1), url); !p.empty())
      return failure(RuntimeCategory::kUrlParse, kOuter + parse_error(text, p));
  }
  return Url{url.scheme, url.host, escaped(url.path, url.raw_path, UrlPart::kPath), url.raw_query, url_text(url)};
}

}  // namespace dra::cel::lib
