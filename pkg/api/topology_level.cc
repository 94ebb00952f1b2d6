#include "pkg/api/topology_level.h"

#include <algorithm>
#include <cctype>

namespace dra::api {

Problems device_attribute_problems(std::string_view text) {
  constexpr size_t kDomainMax = 63, kNameMax = 32;
  Problems out;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size())
    return {"a device attribute must have a domain and a name (e.g. 'gpu.example.com/clique')"};
  const std::string_view domain = text.substr(0, slash), name = text.substr(slash + 1);
  for (const auto& p : dns_subdomain_problems(domain)) out.push_back("domain " + p);
  if (domain.size() > kDomainMax) out.emplace_back("domain must be no more than 63 bytes");
  const auto is_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (!std::all_of(name.begin(), name.end(), is_word) || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    out.emplace_back("name must be a C identifier (e.g. 'clique')");
  if (name.size() > kNameMax) out.emplace_back("name must be no more than 32 bytes");
  return out;
}

Problems topology_level_problems(std::string_view text) {
  if (text.starts_with(kAttributeLevel)) return device_attribute_problems(text.substr(kAttributeLevel.size()));
  return qualified_name_problems(text);
}

}  // namespace dra::api
