// Who may ask the page's server for what. Other users of the machine, and pages of other sites in the user's browser,
// can reach a loopback port: they get nothing. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/http/message.h"

namespace dra::web {

// The header with the key, or with the ticket that the page got in its address.
inline constexpr std::string_view kKeyHeader = "X-Dra-Key";

// 256 random bits in hexadecimal, from the operating system. Throws if it has none.
std::string random_key();

// The status of the refusal, or nothing. 403: the Host is not a loopback name, or a page of another origin asks; 401:
// there is no key, or a wrong one. `open`: the path is a file of the page, which is the same for everybody.
std::optional<int> why_refused(const http::Request& request, std::string_view path, bool open, std::string_view key);

// An answer with the headers that every answer has: nothing is stored, framed, guessed or loaded from elsewhere.
http::Response guarded(int status, std::string_view content_type, std::string body);

}  // namespace dra::web
