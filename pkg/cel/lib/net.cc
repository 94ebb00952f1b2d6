#include "pkg/cel/lib/net.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "pkg/base/strings.h"

namespace dra::cel::lib {

namespace {

// What is wrong with a text that should be an address, in the words of Go's netip, and where.
struct AddressProblem {
  const char* what = nullptr;
  std::string_view at;
};

struct ParsedAddress {
  Ip ip;
  bool zone = false;
  AddressProblem problem;
};

std::string describe(std::string_view text, const AddressProblem& p) {
  std::string message = "ParseAddr(" + dra::quote(text) + "): " + p.what;
  if (!p.at.empty()) message += " (at " + dra::quote(p.at) + ")";
  return message;
}

// Dotted decimal into four bytes.
AddressProblem parse_ipv4_fields(std::string_view s, uint8_t* fields) {
  int value = 0;
  int position = 0;
  int digits = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c >= '0' && c <= '9') {
      if (digits == 1 && value == 0) return {"IPv4 field has octet with leading zero", {}};
      value = value * 10 + (c - '0');
      ++digits;
      if (value > 255) return {"IPv4 field has value >255", {}};
    } else if (c == '.') {
      if (i == 0 || i == s.size() - 1 || s[i - 1] == '.')
        return {"IPv4 field must have at least one digit", s.substr(i)};
      if (position == 3) return {"IPv4 address too long", {}};
      fields[position++] = static_cast<uint8_t>(value);
      value = 0;
      digits = 0;
    } else {
      return {"unexpected character", s.substr(i)};
    }
  }
  if (position < 3) return {"IPv4 address too short", {}};
  fields[3] = static_cast<uint8_t>(value);
  return {};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One group of at most four hexadecimal digits at the start of `s`.
AddressProblem parse_group(std::string_view s, size_t& length, uint32_t& value) {
  value = 0;
  length = 0;
  for (; length < s.size(); ++length) {
    const int digit = hex_digit(s[length]);
    if (digit < 0) break;
    if (length > 3) return {"each group must have 4 or fewer digits", s};
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  if (length == 0) return {"each colon-separated field must have at least one digit", s};
  return {};
}

// Moves what follows the ellipsis to the end.
AddressProblem expand_ellipsis(std::array<uint8_t, 16>& bytes, size_t filled, int ellipsis) {
  if (filled == bytes.size()) {
    if (ellipsis >= 0) return {"the :: must expand to at least one field of zeros", {}};
    return {};
  }
  if (ellipsis < 0) return {"address string too short", {}};
  const size_t gap = bytes.size() - filled;
  const auto from = bytes.begin() + ellipsis;
  std::copy_backward(from, bytes.begin() + static_cast<ptrdiff_t>(filled), bytes.end());
  std::fill_n(from, gap, uint8_t{0});
  return {};
}

AddressProblem parse_ipv6_bytes(std::string_view s, std::array<uint8_t, 16>& bytes) {
  int ellipsis = -1;
  if (s.starts_with("::")) {
    ellipsis = 0;
    s.remove_prefix(2);
    if (s.empty()) return {};
  }
  size_t i = 0;
  while (i < bytes.size()) {
    size_t length = 0;
    uint32_t group = 0;
    if (const AddressProblem p = parse_group(s, length, group); p.what != nullptr) return p;
    if (length < s.size() && s[length] == '.') {  // the rest must be an IPv4 address
      if (ellipsis < 0 && i != 12) return {"embedded IPv4 address must replace the final 2 fields of the address", s};
      if (i + 4 > bytes.size()) return {"too many hex fields to fit an embedded IPv4 at the end of the address", s};
      if (const AddressProblem p = parse_ipv4_fields(s, &bytes[i]); p.what != nullptr) return p;
      s = {};
      i += 4;
      break;
    }
    bytes[i] = static_cast<uint8_t>(group >> 8);
    bytes[i + 1] = static_cast<uint8_t>(group);
    i += 2;
    s.remove_prefix(length);
    if (s.empty()) break;
    if (s.front() != ':') return {"unexpected character, want colon", s};
    if (s.size() == 1) return {"colon must be followed by more characters", s};
    s.remove_prefix(1);
    if (s.front() == ':') {
      if (ellipsis >= 0) return {"multiple :: in address", s};
      ellipsis = static_cast<int>(i);
      s.remove_prefix(1);
      if (s.empty()) break;
    }
  }
  if (!s.empty()) return {"trailing garbage after address", s};
  return expand_ellipsis(bytes, i, ellipsis);
}

ParsedAddress parse_address(std::string_view text) {
  ParsedAddress result;
  const size_t decides = text.find_first_of(".:%");
  if (decides == std::string_view::npos) {
    result.problem = {"unable to parse IP", {}};
  } else if (text[decides] == '%') {
    result.problem = {"missing IPv6 address", {}};
  } else if (text[decides] == '.') {
    result.problem = parse_ipv4_fields(text, result.ip.bytes.data());
  } else {
    result.ip.v6 = true;
    const size_t percent = text.find('%');
    result.zone = percent != std::string_view::npos;
    if (percent + 1 == text.size())
      result.problem = {"zone must be a non-empty string", {}};
    else
      result.problem = parse_ipv6_bytes(text.substr(0, percent), result.ip.bytes);
  }
  return result;
}

bool is_ipv4_mapped(const Ip& ip) {
  static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return ip.v6 && std::memcmp(ip.bytes.data(), kPrefix, sizeof kPrefix) == 0;
}

// The first `bits` bits of the address, the rest 0.
Ip mask_address(const Ip& ip, int bits) {
  Ip masked = ip;
  for (int i = 0; i < 16; ++i) {
    const int keep = std::clamp(bits - i * 8, 0, 8);
    masked.bytes[static_cast<size_t>(i)] &= static_cast<uint8_t>(0xff00 >> keep);
  }
  return masked;
}

// Go's Atoi after its check for signs and leading zeros; -1 when it is not a number, 1000 for very large ones.
int parse_prefix_bits(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return -1;
  int bits = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    bits = std::min(bits * 10 + (c - '0'), 1000);
  }
  return bits;
}

}  // namespace

bool Ip::is_unspecified() const {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
}

bool Ip::is_loopback() const {
  if (!v6) return bytes[0] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; });
}

bool Ip::is_multicast() const {
  return v6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 0xe0;
}

bool Ip::is_link_local_multicast() const {
  return v6 ? bytes[0] == 0xff && (bytes[1] & 0x0f) == 2 : bytes[0] == 224 && bytes[1] == 0 && bytes[2] == 0;
}

bool Ip::is_link_local_unicast() const {
  return v6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

bool Ip::is_global_unicast() const {
  const bool broadcast = !v6 && std::all_of(bytes.begin(), bytes.begin() + 4, [](uint8_t b) { return b == 0xff; });
  return !broadcast && !is_unspecified() && !is_loopback() && !is_multicast() && !is_link_local_unicast();
}

Outcome<Ip> parse_ip(std::string_view text) {
  const ParsedAddress parsed = parse_address(text);
  if (parsed.problem.what != nullptr)
    return failure(RuntimeCategory::kNetParse,
                   "IP Address " + dra::quote(text) +
                       " parse error during conversion from string: " + describe(text, parsed.problem));
  if (parsed.zone)
    return failure(RuntimeCategory::kNetParse, "IP address " + dra::quote(text) + " with zone value is not allowed");
  if (is_ipv4_mapped(parsed.ip))
    return failure(RuntimeCategory::kNetParse, "IPv4-mapped IPv6 address " + dra::quote(text) + " is not allowed");
  return parsed.ip;
}

std::string check_ip_literal(std::string_view text) {
  const ParsedAddress parsed = parse_address(text);
  if (parsed.problem.what != nullptr) return "invalid host: " + describe(text, parsed.problem);
  return parsed.ip.v6 ? "" : "invalid IP-literal";
}

std::string to_string(const Ip& ip) {
  char buffer[8];
  std::string text;
  if (!ip.v6) {
    for (size_t i = 0; i < 4; ++i) text += (i == 0 ? "" : ".") + std::to_string(ip.bytes[i]);
    return text;
  }
  const auto group = [&](int i) {
    return static_cast<unsigned>(ip.bytes[static_cast<size_t>(i) * 2] << 8 | ip.bytes[static_cast<size_t>(i) * 2 + 1]);
  };
  int zeros_from = -1;
  int zeros = 1;  // a single group of zeros is not shortened
  for (int i = 0; i < 8; ++i) {
    int run = 0;
    while (i + run < 8 && group(i + run) == 0) ++run;
    if (run > zeros) {
      zeros_from = i;
      zeros = run;
    }
    i += run;
  }
  for (int i = 0; i < 8; ++i) {
    if (i == zeros_from) {
      text += "::";
      i += zeros - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    std::snprintf(buffer, sizeof buffer, "%x", group(i));
    text += buffer;
  }
  return text;
}

Cidr Cidr::masked() const {
  return {mask_address(address, prefix), prefix};
}

bool Cidr::contains(const Ip& ip) const {
  return ip.v6 == address.v6 && mask_address(ip, prefix) == mask_address(address, prefix);
}

bool Cidr::contains(const Cidr& other) const {
  return prefix <= other.prefix && contains(other.address);
}

Outcome<Cidr> parse_cidr(std::string_view text) {
  static const std::string kOuter = "network address parse error during conversion from string: ";
  const auto fail_prefix = [&](const std::string& why) {
    // Upstream wraps this error twice.
    return failure(RuntimeCategory::kNetParse, kOuter + kOuter + "netip.ParsePrefix(" + dra::quote(text) + "): " + why);
  };
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return fail_prefix("no '/'");
  const ParsedAddress parsed = parse_address(text.substr(0, slash));
  if (parsed.problem.what != nullptr) return fail_prefix(describe(text.substr(0, slash), parsed.problem));
  if (parsed.zone) return fail_prefix("IPv6 zones cannot be present in a prefix");
  const std::string_view digits = text.substr(slash + 1);
  const int bits = parse_prefix_bits(digits);
  if (bits < 0) return fail_prefix("bad bits after slash: " + dra::quote(digits));
  if (bits > parsed.ip.bits()) return fail_prefix("prefix length out of range");
  if (is_ipv4_mapped(parsed.ip))
    return failure(RuntimeCategory::kNetParse,
                   kOuter + "IPv4-mapped IPv6 address " + dra::quote(text) + " is not allowed");
  return Cidr{parsed.ip, bits};
}

std::string to_string(const Cidr& cidr) {
  return to_string(cidr.address) + "/" + std::to_string(cidr.prefix);
}

}  // namespace dra::cel::lib
