#include "pkg/cel/lib/url.h"

#include <gtest/gtest.h>

namespace dra::cel::lib::url_test {

TEST(Url, TakesUrlsApart) {
  const auto u = parse_url("HTTPS://user:p%40ss@Host.example:8443/path with spaces/?a=1&a=2&b=x+y&c;d=1&%zz=1&e#frag");
  ASSERT_TRUE(u) << u.error().message;
  EXPECT_EQ(u->scheme, "https");
  EXPECT_EQ(u->host, "Host.example:8443");
  EXPECT_EQ(u->hostname(), "Host.example");
  EXPECT_EQ(u->port(), "8443");
  EXPECT_EQ(u->escaped_path, "/path%20with%20spaces/");
  const std::vector<std::pair<std::string, std::vector<std::string>>> query = {
      {"a", {"1", "2"}}, {"b", {"x y"}}, {"e", {""}}};
  EXPECT_EQ(u->query(), query);
  EXPECT_EQ(u->text, "https://user:p%40ss@Host.example:8443/path%20with%20spaces/?a=1&a=2&b=x+y&c;d=1&%zz=1&e#frag");
  EXPECT_EQ(parse_url("https://[::1]:80/")->hostname(), "::1");
  EXPECT_EQ(parse_url("/path")->host, "");
  EXPECT_EQ(parse_url("/a%2Fb")->escaped_path, "/a%2Fb");
  EXPECT_EQ(parse_url("mailto:x@example.com")->text, "mailto:x@example.com");
  EXPECT_EQ(parse_url("//host/p")->host, "host");
}

TEST(Url, WhatIsARequestUri) {
  for (const char* good : {"http:", "http://h", "http://h:/", "*", "/", "//h", "mailto:x", "https://[fe80::1%25en0]:1/",
                           "http://h/%41", "a://h:1:2/", "http://%C3%A9/", "http://a/b c"})
    EXPECT_EQ(check_request_uri(good), "") << good;
  const std::pair<const char*, const char*> bad[] = {
      {"", "parse \"\": empty url"},
      {"../relative", "parse \"../relative\": invalid URI for request"},
      {":x", "parse \":x\": missing protocol scheme"},
      {"http://a b/", "parse \"http://a b/\": invalid character \" \" in host name"},
      {"http://[::1", "parse \"http://[::1\": missing ']' in host"},
      {"http://host:port/", "parse \"http://host:port/\": invalid port \":port\" after host"},
      {"http://h:1:2/", "parse \"http://h:1:2/\": invalid port \":1:2\" after host"},
      {"http://[1.2.3.4]/", "parse \"http://[1.2.3.4]/\": invalid IP-literal"},
      {"http://h/%4", "parse \"http://h/%4\": invalid URL escape \"%4\""},
      {"http://%41/", "parse \"http://%41/\": invalid URL escape \"%41\""},
      {"http://h/\n", "parse \"http://h/\\n\": net/url: invalid control character in URL"},
      {"http://u\"@h/", "parse \"http://u\\\"@h/\": net/url: invalid userinfo"}};
  for (const auto& [text, message] : bad) EXPECT_EQ(check_request_uri(text), message) << text;
  EXPECT_EQ(parse_url("../x").error().message,
            "URL parse error during conversion from string: parse \"../x\": invalid URI for request");
}

}  // namespace dra::cel::lib::url_test
