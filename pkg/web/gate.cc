#include "pkg/web/gate.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "pkg/base/strings.h"

namespace dra::web {
namespace {

constexpr size_t kKeyBytes = 32;

bool is_loopback_host(std::string_view host) {
  std::string_view name = host;
  const size_t end_of_name = host.starts_with('[') ? host.find(']') : host.find(':');
  if (host.starts_with('[') && end_of_name == std::string_view::npos) return false;
  const size_t cut = host.starts_with('[') ? end_of_name + 1 : std::min(end_of_name, host.size());
  name = host.substr(0, cut);
  std::string_view port = host.substr(cut);
  if (!port.empty()) {
    port.remove_prefix(1);
    const bool digits = std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (host[cut] != ':' || port.empty() || port.size() > 5 || !digits) return false;
  }
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

size_t count_of(const http::Headers& headers, std::string_view name) {
  return static_cast<size_t>(std::count_if(headers.fields().begin(), headers.fields().end(), [&](const auto& field) {
    return to_lower(field.first) == to_lower(std::string(name));
  }));
}

bool is_of_this_page(const http::Request& request, std::string_view path) {
  const http::Headers& headers = request.headers;
  const std::string_view host = headers.get("Host");
  if (count_of(headers, "Host") != 1 || !is_loopback_host(host) || count_of(headers, "Origin") > 1) return false;
  if (headers.has("Origin") && headers.get("Origin") != "http://" + std::string(host)) return false;
  const std::string_view site = headers.get("Sec-Fetch-Site");
  if (site.empty() || site == "same-origin" || site == "none") return true;
  // The file that the browser is opened with leads here, and a link may.
  return path == "/" && headers.get("Sec-Fetch-Mode") == "navigate" && headers.get("Sec-Fetch-Dest") == "document";
}

}  // namespace

std::string random_key() {
  std::array<unsigned char, kKeyBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("the system has no random bytes for the page's key");
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::optional<int> why_refused(const http::Request& request, std::string_view path, bool open, std::string_view key) {
  if (!is_of_this_page(request, path)) return 403;
  if (open) return std::nullopt;
  const std::string_view given = request.headers.get(kKeyHeader);
  const bool same = given.size() == key.size() && CRYPTO_memcmp(given.data(), key.data(), key.size()) == 0;
  return same ? std::nullopt : std::optional<int>(401);
}

http::Response guarded(int status, std::string_view content_type, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", std::string(content_type));
  response.headers.add("Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types "
                       "'none'");
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("X-Frame-Options", "DENY");
  response.headers.add("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.body = std::move(body);
  return response;
}

}  // namespace dra::web
