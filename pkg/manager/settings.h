// The operator's options as the packages below take them. For the manager only.
#pragma once

#include <string_view>

#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/manager/options.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

// `server_version`: "v1.36.2"; empty: unknown.
inventory::Features features_of(const ManagerOptions& options, std::string_view server_version);
// `clock` must outlive the allocator.
allocator::Options allocator_options_of(const ManagerOptions& options, const Clock& clock);
// True when best-fit serves some class: by default, or by the class's annotation.
bool serves_best_fit(allocator::Strategy by_default, const reconcile::View& view);
// Logs each class whose extended resource gets no claim of ours: docs/install.md, "What gate mode does not serve".
void warn_of_extended_resources(reconcile::Scheduling mode, const reconcile::View& view);

}  // namespace dra::manager
