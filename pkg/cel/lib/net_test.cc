#include "pkg/cel/lib/net.h"

#include <gtest/gtest.h>

#include <string>

#include "pkg/base/random.h"

namespace dra::cel::lib::net_test {

std::string canonical(const std::string& text) {
  const auto ip = parse_ip(text);
  return ip ? to_string(*ip) : "!" + ip.error().message;
}

TEST(Net, ParsesAndPrintsAddresses) {
  const std::pair<const char*, const char*> good[] = {{"1.2.3.4", "1.2.3.4"},
                                                      {"0.0.0.0", "0.0.0.0"},
                                                      {"2001:DB8::0:1", "2001:db8::1"},
                                                      {"::", "::"},
                                                      {"::1", "::1"},
                                                      {"1::", "1::"},
                                                      {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
                                                      {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
                                                      {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
                                                      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
                                                      {"fe80::", "fe80::"}};
  for (const auto& [in, out] : good) EXPECT_EQ(canonical(in), out) << in;
}

TEST(Net, RefusesWithGoWords) {
  const auto parse_error = [](const std::string& text, const std::string& what) {
    return "!IP Address \"" + text + "\" parse error during conversion from string: ParseAddr(\"" + text +
           "\"): " + what;
  };
  const std::pair<const char*, const char*> bad[] = {
      {"256.0.0.1", "IPv4 field has value >255"},
      {"192.168.001.1", "IPv4 field has octet with leading zero"},
      {"1.2.3", "IPv4 address too short"},
      {"1.2.3.4.5", "IPv4 address too long"},
      {"1..2.3", "IPv4 field must have at least one digit (at \".2.3\")"},
      {"1.2.3.", "IPv4 field must have at least one digit (at \".\")"},
      {"", "unable to parse IP"},
      {"abc", "unable to parse IP"},
      {"1:2", "address string too short"},
      {"1::2::3", "multiple :: in address (at \":3\")"},
      {":1", "each colon-separated field must have at least one digit (at \":1\")"},
      {"12345::", "each group must have 4 or fewer digits (at \"12345::\")"},
      {"1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")"},
      {"::1.2.3", "IPv4 address too short"},
      {"1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"},
      {"%eth0", "missing IPv6 address"}};
  for (const auto& [text, what] : bad) EXPECT_EQ(canonical(text), parse_error(text, what));
  EXPECT_EQ(canonical("fe80::1%eth0"), "!IP address \"fe80::1%eth0\" with zone value is not allowed");
  EXPECT_EQ(canonical("::ffff:1.2.3.4"), "!IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed");
}

TEST(Net, Classes) {
  EXPECT_TRUE(parse_ip("127.3.2.1")->is_loopback());
  EXPECT_TRUE(parse_ip("::1")->is_loopback());
  EXPECT_TRUE(parse_ip("::")->is_unspecified());
  EXPECT_TRUE(parse_ip("169.254.1.1")->is_link_local_unicast());
  EXPECT_TRUE(parse_ip("febf::1")->is_link_local_unicast());
  EXPECT_TRUE(parse_ip("224.0.0.7")->is_link_local_multicast());
  EXPECT_FALSE(parse_ip("224.0.1.7")->is_link_local_multicast());
  EXPECT_TRUE(parse_ip("ff32::1")->is_link_local_multicast());
  EXPECT_TRUE(parse_ip("10.0.0.1")->is_global_unicast());
  EXPECT_FALSE(parse_ip("255.255.255.255")->is_global_unicast());
  EXPECT_FALSE(parse_ip("239.0.0.1")->is_global_unicast());
}

TEST(Net, Networks) {
  const auto net = parse_cidr("192.168.1.5/24");
  ASSERT_TRUE(net);
  EXPECT_EQ(to_string(*net), "192.168.1.5/24");
  EXPECT_EQ(to_string(net->masked()), "192.168.1.0/24");
  EXPECT_TRUE(net->contains(*parse_ip("192.168.1.200")));
  EXPECT_FALSE(net->contains(*parse_ip("192.168.2.0")));
  EXPECT_FALSE(net->contains(*parse_ip("::1")));
  EXPECT_TRUE(parse_cidr("::/0")->contains(*parse_cidr("1::/127")));
  EXPECT_FALSE(parse_cidr("10.1.0.0/16")->contains(*parse_cidr("10.0.0.0/8")));
  EXPECT_FALSE(*parse_cidr("192.168.1.5/24") == *parse_cidr("192.168.1.0/24"));
  for (const char* bad : {"bad", "1.2.3.4", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/08", "1.2.3.4/+8", "1.2.3.4/-1",
                          "::/129", "fe80::%a/64", "::ffff:1.2.3.4/100", "1.2.3.4/99999999999999999999"})
    EXPECT_FALSE(parse_cidr(bad)) << bad;
}

TEST(Net, WhatIsPrintedParsesToTheSameAddress) {
  const uint64_t seed = 3;
  SCOPED_TRACE(seed);
  SeededRandom random(seed);
  for (int i = 0; i < 5000; ++i) {
    Ip ip;
    ip.v6 = random.below(2) == 0;
    for (size_t b = 0; b < (ip.v6 ? 16U : 4U); ++b)
      ip.bytes[b] = random.below(2) == 0 ? 0 : static_cast<uint8_t>(random.below(256));
    const auto again = parse_ip(to_string(ip));
    if (!again) continue;  // an IPv4-mapped one by chance
    ASSERT_EQ(*again, ip) << to_string(ip);
    const Cidr net{ip, static_cast<int>(random.below(static_cast<uint64_t>(ip.bits()) + 1))};
    ASSERT_TRUE(net.contains(ip));
    ASSERT_TRUE(net.contains(net.masked())) << to_string(net);
    ASSERT_EQ(*parse_cidr(to_string(net)), net);
  }
}

}  // namespace dra::cel::lib::net_test
