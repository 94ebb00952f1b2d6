#include "pkg/web/report.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/web/assets.h"

namespace dra::web {
namespace {

constexpr std::string_view kStyleTag = "<link rel=\"stylesheet\" href=\"/page/style.css\">";
constexpr std::string_view kScriptTag = "<script type=\"module\" src=\"/page/main.js\"></script>";

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

std::string hash_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

const std::string& file_named(const std::string& name) {
  for (const Asset& asset : assets())
    if (asset.name == name) return asset.text;
  throw std::logic_error("the page has no file " + name);
}

// The modules as one script: each after those that it imports. Names of all modules differ (web/test/bundle_test.mjs).
void add_module(const std::string& name, std::set<std::string>& done, std::string& script) {
  if (!done.insert(name).second) return;
  std::string own;
  for (const std::string& line : split(file_named(name), '\n')) {
    const size_t from = line.find(" from './"), from_above = line.find(" from '../");
    const bool imports = line.starts_with("import "), passes_on = line.starts_with("export {");
    if (imports || passes_on) {
      const std::string folder = name.substr(0, name.rfind('/') + 1);
      if (from != std::string::npos)
        add_module(folder + line.substr(from + 9, line.rfind('\'') - from - 9), done, script);
      else if (from_above != std::string::npos)
        add_module(line.substr(from_above + 10, line.rfind('\'') - from_above - 10), done, script);
      continue;
    }
    own += (line.starts_with("export ") ? line.substr(7) : line) + "\n";
  }
  script += own;
}

void replace_tag(std::string& page, std::string_view tag, const std::string& by) {
  const size_t at = page.find(tag);
  if (at == std::string::npos) throw std::logic_error("the page has no " + std::string(tag));
  page.replace(at, tag.size(), by);
}

}  // namespace

std::string report_html(const std::string& lines) {
  std::string script, page = file_named("page/index.html");
  std::set<std::string> done;
  add_module("page/main.js", done, script);
  const std::string& style = file_named("page/style.css");
  const std::string policy = "default-src 'none'; base-uri 'none'; form-action 'none'; script-src " + hash_of(script) +
                             "; style-src " + hash_of(style) +
                             "; require-trusted-types-for 'script'; trusted-types 'none'";
  replace_tag(page, kStyleTag,
              "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n<style>" + style + "</style>");
  replace_tag(page, kScriptTag,
              "<script type=\"application/octet-stream\" id=\"data\">" + base64(lines) +
                  "</script>\n<script type=\"module\">" + script + "</script>");
  return page;
}

}  // namespace dra::web
