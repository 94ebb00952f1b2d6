// The standard process_* metrics. Internal to pkg/metrics: use Registry::add_process_metrics().
#pragma once

namespace dra::metrics {

class Registry;
void register_process_metrics(Registry& registry);

}  // namespace dra::metrics
