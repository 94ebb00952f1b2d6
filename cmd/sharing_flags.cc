#include "cmd/sharing_flags.h"

#include "cmd/rule_flag.h"

namespace dra::cmd {

void add_sharing_flags(CLI::App& app, sharing::Rules& rules) {
  add_rule_flag(
      app, "--shared-device-requests", rules, &sharing::Rules::add_requests,
      "DRIVER=never, =apart or =together: two requests of one claim on one shared device of the driver. never, "
      "the default of gpu.nvidia.com, whose driver fails to prepare such a claim; apart, the default of "
      "others: different devices where there are some; together: as kube-scheduler");
  add_rule_flag(
      app, "--shared-device-parameters", rules, &sharing::Rules::add_parameters,
      "DRIVER=equal or =any: claims on one shared device of the driver whose parameters for it differ. equal, "
      "the default of gpu.nvidia.com, whose driver refuses them: they get different devices; any, the default "
      "of others");
}

}  // namespace dra::cmd
