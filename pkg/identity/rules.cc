#include "pkg/identity/rules.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/identity/form.h"

namespace dra::identity {
namespace {

constexpr size_t kMaxSpaceBytes = 63;

// "LEFT=RIGHT", neither empty.
std::optional<std::pair<std::string, std::string>> halves(std::string_view text) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return std::nullopt;
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

bool is_attribute(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string_view::npos;
}

bool is_space(std::string_view text) {
  return text.size() <= kMaxSpaceBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

std::optional<std::string> add_attribute(std::string_view text,
                                         std::map<std::string, std::string, std::less<>>& table) {
  const auto parts = halves(text);
  if (!parts || !is_attribute(parts->first))
    return quote(text) + ": write ATTRIBUTE=NAMESPACE with the attribute's full name, as in " +
           quote("example.com/serial=example");
  if (!is_space(parts->second))
    return quote(text) + ": the namespace " + quote(parts->second) +
           " may have at most 63 lower-case letters, digits, dots and dashes";
  table[parts->first] = parts->second;
  return std::nullopt;
}

}  // namespace

std::optional<PluginUse> parse_plugin_use(std::string_view text) {
  for (const PluginUse use : {PluginUse::kPlugin, PluginUse::kDra, PluginUse::kApart})
    if (text == plugin_use_name(use)) return use;
  return std::nullopt;
}

std::string_view plugin_use_name(PluginUse use) {
  switch (use) {
    case PluginUse::kDra:
      return "dra";
    case PluginUse::kApart:
      return "apart";
    case PluginUse::kPlugin:
      break;
  }
  return "plugin";
}

Rules::Rules() {
  const std::string nvidia = "gpu.nvidia.com", amd = "gpu.amd.com", hami = "hami-core-gpu.project-hami.io",
                    sriov = "sriovnetwork.k8snetworkplumbingwg.io";
  const std::string bus(kPci), uuid(kNvidiaUuid);
  for (const std::string& attribute :
       {std::string("resource.kubernetes.io/pciBusID"), std::string("dra.net/pciAddress"), sriov + "/pciAddress",
        nvidia + "/pcieBusID", hami + "/pcieBusID", amd + "/pciAddr", std::string("gpu.intel.com/pciAddress")})
    own[attribute] = bus;
  own[nvidia + "/uuid"] = own[hami + "/uuid"] = uuid;
  parent[sriov + "/pfPciAddress"] = parent[amd + "/parentPciAddr"] = bus;
  parent[nvidia + "/parentUUID"] = parent[hami + "/parentUUID"] = uuid;
  parts[nvidia] = parts[hami] = {"mig"};
  parts[amd] = {"amdgpu-partition"};
  exclusive[nvidia] = {{"gpu", "vfio"}, {"mig", "vfio"}};
  exclusive[amd] = {{"amdgpu", "vfio"}, {"amdgpu-partition", "vfio"}};
}

PluginUse Rules::plugin_use(std::string_view driver) const {
  const auto found = plugin.find(driver);
  return found == plugin.end() ? PluginUse::kPlugin : found->second;
}

bool Rules::excludes(std::string_view driver, const std::string& type, const std::string& other) const {
  const auto found = exclusive.find(driver);
  return found != exclusive.end() && found->second.contains(std::minmax(type, other));
}

std::optional<std::string> Rules::add_own(std::string_view text) {
  return add_attribute(text, own);
}
std::optional<std::string> Rules::add_parent(std::string_view text) {
  return add_attribute(text, parent);
}

std::optional<std::string> Rules::add_part(std::string_view text) {
  const auto both = halves(text);
  if (!both) return quote(text) + ": write DRIVER=TYPE, as in " + quote("gpu.example.com=partition");
  parts[both->first].insert(both->second);
  return std::nullopt;
}

std::optional<std::string> Rules::add_exclusive(std::string_view text) {
  const auto both = halves(text);
  const size_t plus = both ? both->second.find('+') : std::string::npos;
  if (plus == std::string::npos || plus == 0 || plus + 1 == both->second.size())
    return quote(text) + ": write DRIVER=TYPE+TYPE, as in " + quote("gpu.example.com=gpu+vfio");
  const std::string type = both->second.substr(0, plus), other = both->second.substr(plus + 1);
  exclusive[both->first].insert(std::minmax(type, other));
  return std::nullopt;
}

std::optional<std::string> Rules::set_annotations(std::string_view text) {
  if (text != "on" && text != "off" && text != "true" && text != "false") return quote(text) + ": write on or off";
  annotations = text == "on" || text == "true";
  return std::nullopt;
}

std::optional<std::string> Rules::add_plugin(std::string_view text) {
  const auto both = halves(text);
  const auto use = both ? parse_plugin_use(both->second) : std::nullopt;
  if (!use) return quote(text) + ": write DRIVER=plugin, DRIVER=dra or DRIVER=apart";
  plugin[both->first] = *use;
  return std::nullopt;
}

std::optional<std::string> Rules::add_plugin_resources(std::string_view text) {
  const auto both = halves(text);
  if (!both) return quote(text) + ": write DRIVER=RESOURCE[,RESOURCE], as in " + quote("gpu.nvidia.com=nvidia.com/gpu");
  for (const std::string& resource : split(both->second, ',')) {
    if (resource.find('/') == std::string::npos)
      return quote(text) + ": " + quote(resource) + " is not the name of an extended resource, as nvidia.com/gpu is";
    plugin_resources[both->first].insert(resource);
  }
  return std::nullopt;
}

}  // namespace dra::identity
