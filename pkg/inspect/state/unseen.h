// What may not be listed is not absent: the words for it, in every verb. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

// The role of the chart that allows to read what answers need beside a tenant's own role.
inline constexpr std::string_view kViewerRole = "dra-controller-manager:viewer";

// The error for an object that was named and is not among those read: `what` is `node "x"`. If its kind is hidden, in
// this namespace (empty: at all), it is not visible (kPermissionDenied); otherwise it is not known (kNotFound), with
// `advice` after it.
Error not_known(const Objects& objects, std::string_view plural, std::string_view ns, const std::string& what,
                const std::string& advice = "");

// Why it is hidden, and the role that shows it where one of the cluster does.
std::string why_with_role(const Hidden& hidden);

// What a decision needs and that is hidden ("nodes, resourceslices are not visible: you may not list them; ...");
// empty: all of it is visible. An answer that something does not fit is then no answer.
std::string why_undecidable(const Objects& objects);

// Notes after an answer, one for all kinds that are hidden for the same reason; `effect` is added to each: "; figures
// leave them out".
std::vector<std::string> hidden_notes(const Objects& objects, const std::string& effect = "");

}  // namespace dra::inspect
