// Does a node or a label set satisfy a selector; does a toleration match a taint?
//
//   if (api::matches(*pod.node_affinity->required, node.metadata.name, node.metadata.labels)) ...
//
// Node selectors follow component-helpers' nodeaffinity of 1.36. Terms are OR-ed, the requirements of a term AND-ed.
// A term matches nothing when it is empty or when one of its requirements cannot be parsed: an unknown operator, a
// value that is not a valid label value (so Gt "+5" and Lt "-1" never match), In and NotIn without values, Exists and
// DoesNotExist with values, Gt and Lt without exactly one integer, a field requirement that is not In or NotIn with
// exactly one value. The other terms of the selector still count. NotIn and DoesNotExist match a missing label.
//
// Label selectors follow metav1.LabelSelectorAsSelector: the empty selector matches everything, a selector that cannot
// be parsed matches nothing here; well_formed() tells the two apart.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/api/resource.h"

namespace dra::api {

// A node as selectors see it: its name (metadata.name) and labels.
bool matches(const NodeSelectorTerm& term, std::string_view node_name, const StringMap& labels);
bool matches(const NodeSelector& selector, std::string_view node_name, const StringMap& labels);
// All requirements of the term can be parsed. An empty term is well formed and matches nothing.
bool well_formed(const NodeSelectorTerm& term);

bool matches(const LabelSelector& selector, const StringMap& labels);
bool well_formed(const LabelSelector& selector);

// Every entry of `wanted` is in `labels`: pod.spec.nodeSelector.
bool has_labels(const StringMap& wanted, const StringMap& labels);

// At most 63 characters of [-A-Za-z0-9_.], the first and the last alphanumeric; empty is valid.
bool valid_label_value(std::string_view value);

// An empty key with Exists matches every key, an empty effect every effect. The operators Gt and Lt of tolerations are
// alpha and off in 1.36: such a toleration matches nothing. A list tolerates what one of its entries does.
bool tolerates(const Toleration& toleration, const Taint& taint);
bool tolerates(const DeviceToleration& toleration, const DeviceTaint& taint);
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
bool tolerates(const std::vector<DeviceToleration>& tolerations, const DeviceTaint& taint);
// The taint keeps new pods from the device. `ignored`: keys of NoSchedule taints that do not (--ignore-taints).
bool keeps_new_pods_away(const DeviceTaint& taint, const std::vector<DeviceToleration>& tolerations,
                         const std::vector<std::string>& ignored);
// Key and value alone, whatever the effects are.
bool is_about(const DeviceToleration& toleration, const DeviceTaint& taint);

}  // namespace dra::api
