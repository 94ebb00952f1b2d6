// IP addresses and networks: k8s.io/apiserver/pkg/cel/library ip.go and cidr.go on top of Go's net/netip.
//
// Plain values; all functions are pure and safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/cel/lib/outcome.h"

namespace dra::cel::lib {

struct Ip {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 uses the first four, the rest is 0

  bool operator==(const Ip&) const = default;
  int family() const { return v6 ? 6 : 4; }
  int bits() const { return v6 ? 128 : 32; }
  bool is_unspecified() const;
  bool is_loopback() const;
  bool is_multicast() const;
  bool is_link_local_multicast() const;
  bool is_link_local_unicast() const;
  // Everything else but 255.255.255.255; private addresses count as global.
  bool is_global_unicast() const;
};

// Zones and IPv4-mapped IPv6 addresses are refused.
Outcome<Ip> parse_ip(std::string_view text);
// Whether a text may stand between the brackets of a URL's host: an IPv6 address with or without zone. Empty when fine,
// else Go's words.
std::string check_ip_literal(std::string_view text);
// RFC 5952.
std::string to_string(const Ip& ip);

struct Cidr {
  Ip address;  // host bits are kept
  int prefix = 0;

  bool operator==(const Cidr&) const = default;
  Cidr masked() const;
  // False across families.
  bool contains(const Ip& ip) const;
  bool contains(const Cidr& other) const;
};

Outcome<Cidr> parse_cidr(std::string_view text);
std::string to_string(const Cidr& cidr);

}  // namespace dra::cel::lib
