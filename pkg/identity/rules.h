// Rules: which attributes name silicon, which types of devices are parts of another device, and which exclude each
// other.
//
//   Rules rules;                                              // the table below
//   if (auto error = rules.add_own("gpu.example.com/serial=example")) ...   // a flag
//
// Sources: the drivers named in docs/design/identity.md, as read there. Attributes are qualified
// ("gpu.nvidia.com/uuid"); a name without domain in a slice has its driver's. Pure values; errors name the text and
// what to write, and the caller the flag.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace dra::identity {

// For a driver whose devices the device plugin may serve, too (--device-plugin).
enum class PluginUse : uint8_t {
  kPlugin,  // the plugin's while the node offers the resource, or a pod uses it
  kDra,     // the plugin's while a pod uses it
  kApart,   // never: the plugin has other devices
};
std::optional<PluginUse> parse_plugin_use(std::string_view text);
std::string_view plugin_use_name(PluginUse use);

struct Rules {
  Rules();

  std::map<std::string, std::string, std::less<>> own;     // attribute -> namespace
  std::map<std::string, std::string, std::less<>> parent;  // likewise: values of what the device is a part of
  std::map<std::string, std::set<std::string>, std::less<>>
      parts;  // driver -> types whose pci values are their parent's
  std::map<std::string, std::set<std::pair<std::string, std::string>>, std::less<>>
      exclusive;                                                               // driver -> pairs, sorted
  std::map<std::string, PluginUse, std::less<>> plugin;                        // driver; others: kPlugin
  std::map<std::string, std::set<std::string>, std::less<>> plugin_resources;  // driver -> resources without a class

  // What allocations of other programs hold is noted on their claims, and notes count: whoever may write them keeps
  // others from devices.
  bool annotations = false;

  PluginUse plugin_use(std::string_view driver) const;
  bool excludes(std::string_view driver, const std::string& type, const std::string& other) const;

  // The values of --identity, --identity-parent, --identity-part, --identity-exclusive, --identity-annotations,
  // --device-plugin and --device-plugin-resources. What is wrong with the text; nothing: it was added.
  std::optional<std::string> add_own(std::string_view text);
  std::optional<std::string> add_parent(std::string_view text);
  std::optional<std::string> add_part(std::string_view text);
  std::optional<std::string> add_exclusive(std::string_view text);
  std::optional<std::string> set_annotations(std::string_view text);
  std::optional<std::string> add_plugin(std::string_view text);
  std::optional<std::string> add_plugin_resources(std::string_view text);

  bool operator==(const Rules&) const = default;
};

}  // namespace dra::identity
