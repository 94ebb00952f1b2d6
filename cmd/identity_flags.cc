#include "cmd/identity_flags.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dra::cmd {
namespace {

using Add = std::optional<std::string> (identity::Rules::*)(std::string_view);

void add_rule(CLI::App& app, const char* name, identity::Rules& rules, Add add, const char* help) {
  const auto wrong = [add](const std::string& given) {
    identity::Rules scratch;
    return (scratch.*add)(given).value_or("");
  };
  const auto put = [&rules, add](const std::vector<std::string>& given) {
    for (const std::string& one : given) (rules.*add)(one);
  };
  app.add_option_function<std::vector<std::string>>(name, put, help)
      ->allow_extra_args(false)
      ->check(CLI::Validator(wrong, ""));
}

}  // namespace

void add_identity_flags(CLI::App& app, identity::Rules& rules) {
  using identity::Rules;
  add_rule(app, "--identity", rules, &Rules::add_own,
           "ATTRIBUTE=NAMESPACE: a further attribute of devices that names their silicon: devices with one value in "
           "one NAMESPACE are one piece, as with example.com/serial=example; given again for each. Namespaces pci and "
           "nvidia-uuid have forms of their own. Known are those of NVIDIA's, AMD's, Intel's, HAMi's, dranet's and "
           "sriov's drivers");
  add_rule(app, "--identity-parent", rules, &Rules::add_parent,
           "ATTRIBUTE=NAMESPACE: the same for an attribute that names what the device is a part of");
  add_rule(app, "--identity-part", rules, &Rules::add_part,
           "DRIVER=TYPE: a type of the driver's devices (attribute type) whose PCI address is that of what they are a "
           "part of");
  add_rule(app, "--identity-exclusive", rules, &Rules::add_exclusive,
           "DRIVER=TYPE+TYPE: two types of the driver's devices that exclude each other on one piece of silicon, in "
           "one pool, too");
  add_rule(app, "--device-plugin", rules, &Rules::add_plugin,
           "DRIVER=plugin, =dra or =apart: to whom the driver's devices belong on a node whose device plugin serves "
           "the extended resource of a class for them. plugin, the default: to the device plugin while the node offers "
           "the resource or a pod uses it; dra: while a pod uses it; apart: never, because the plugin has other "
           "devices");
  add_rule(app, "--device-plugin-resources", rules, &Rules::add_plugin_resources,
           "DRIVER=RESOURCE[,RESOURCE]: extended resources by which the device plugin serves the driver's devices, "
           "beside those that a DeviceClass names");
}

}  // namespace dra::cmd
