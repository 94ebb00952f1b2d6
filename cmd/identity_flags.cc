#include "cmd/identity_flags.h"

#include "cmd/rule_flag.h"

namespace dra::cmd {

void add_identity_flags(CLI::App& app, identity::Rules& rules) {
  using identity::Rules;
  add_rule_flag(
      app, "--identity", rules, &Rules::add_own,
      "ATTRIBUTE=NAMESPACE: a further attribute of devices that names their silicon: devices with one value in "
      "one NAMESPACE are one piece, as with example.com/serial=example; given again for each. Namespaces pci and "
      "nvidia-uuid have forms of their own. Known are those of NVIDIA's, AMD's, Intel's, HAMi's, dranet's and "
      "sriov's drivers");
  add_rule_flag(app, "--identity-parent", rules, &Rules::add_parent,
                "ATTRIBUTE=NAMESPACE: the same for an attribute that names what the device is a part of");
  add_rule_flag(
      app, "--identity-part", rules, &Rules::add_part,
      "DRIVER=TYPE: a type of the driver's devices (attribute type) whose PCI address is that of what they are a "
      "part of");
  add_rule_flag(
      app, "--identity-exclusive", rules, &Rules::add_exclusive,
      "DRIVER=TYPE+TYPE: two types of the driver's devices that exclude each other on one piece of silicon, in "
      "one pool, too");
  add_rule_flag(
      app, "--identity-annotations", rules, &Rules::set_annotations,
      "on: what allocations of other programs hold is written into the annotation "
      "dra-controller-manager/identities of their claims, and counts when the driver has withdrawn the device; "
      "only where the policy marks denies: whoever writes the annotation keeps others from devices. off, the "
      "default: their devices count by what is published");
  add_rule_flag(
      app, "--device-plugin", rules, &Rules::add_plugin,
      "DRIVER=plugin, =dra or =apart: to whom the driver's devices belong on a node whose device plugin serves "
      "the extended resource of a class for them. plugin, the default: to the device plugin while the node offers "
      "the resource or a pod uses it; dra: while a pod uses it; apart: never, because the plugin has other "
      "devices");
  add_rule_flag(
      app, "--device-plugin-resources", rules, &Rules::add_plugin_resources,
      "DRIVER=RESOURCE[,RESOURCE]: extended resources by which the device plugin serves the driver's devices, "
      "beside those that a DeviceClass names");
}

}  // namespace dra::cmd
