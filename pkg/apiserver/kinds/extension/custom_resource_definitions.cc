#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/extension/kinds.h"
#include "pkg/apiserver/kinds/kind_info.h"

namespace dra::apiserver {

// k8s.io/apiextensions-apiserver of 1.36. No object is ever stored, so only the outer type is defined: strict clients
// must get the refusal below, not one about fields.
std::vector<SchemaTable> extension_tables() {
  return {{"apiextensions/v1", R"(
type CustomResourceDefinition
1 metadata ObjectMeta
2 spec Raw
3 status Raw
)"}};
}

namespace {

// Discovery equals the real server's; every create is refused by name.
FieldErrors check_definition(const Json&) {
  return {forbidden(FieldPath("spec"), "this server serves no custom resources")};
}

}  // namespace

void add_extension_kinds(KindRegistry& registry) {
  KindDescription d;
  d.info = kind_info({"apiextensions.k8s.io", "v1"}, "apiextensions/v1", "CustomResourceDefinition",
                     "customresourcedefinitions", "customresourcedefinition", false);
  d.info.short_names = {"crd", "crds"};
  d.info.categories = {"api-extensions"};
  d.check = check_definition;
  with_status(d.info);
  registry.add(std::make_unique<DescribedKind>(std::move(d)));
}

}  // namespace dra::apiserver
