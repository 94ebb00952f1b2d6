// What kinds with a pod template share. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/model/field_error.h"
#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

// Defaults of spec.template.
void default_template(Json& object);
// Checks selector (a LabelSelector or null) against the template's labels.
void check_selector_matches(FieldErrors& out, const Json& spec);
// spec.selector is present, well formed and not empty. `what`: "deployment", for the message.
void check_workload_selector(FieldErrors& out, const Json& spec, const char* what);
// spec.selector is unchanged.
void check_selector_kept(FieldErrors& out, const Json& object, const Json& old);
// Labels, annotations and the pod spec of spec.template.
void check_template(FieldErrors& out, const Json& spec);
// An integer that may be absent but not negative.
void check_not_negative(FieldErrors& out, const FieldPath& path, const Json& object, const char* key);
// "a=b,c in (d,e)"; "<none>" if there is none.
std::string selector_text(const Json& selector);
// Cells of the wide columns: container names, images, selector.
void add_template_cells(Json& cells, const Json& object);
void add_template_columns(std::vector<TableColumn>& columns, const std::string& selector_description);

}  // namespace dra::apiserver
