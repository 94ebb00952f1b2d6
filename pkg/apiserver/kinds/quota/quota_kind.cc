#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "pkg/api/names.h"
#include "pkg/api/quantity.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/quota/kinds.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr std::array<std::string_view, 19> kStandardResources = {"cpu",
                                                                 "memory",
                                                                 "ephemeral-storage",
                                                                 "requests.cpu",
                                                                 "requests.memory",
                                                                 "requests.storage",
                                                                 "requests.ephemeral-storage",
                                                                 "limits.cpu",
                                                                 "limits.memory",
                                                                 "limits.ephemeral-storage",
                                                                 "pods",
                                                                 "resourcequotas",
                                                                 "services",
                                                                 "replicationcontrollers",
                                                                 "secrets",
                                                                 "persistentvolumeclaims",
                                                                 "configmaps",
                                                                 "services.nodeports",
                                                                 "services.loadbalancers"};
constexpr std::array<std::string_view, 7> kScopes = {"Terminating",          "NotTerminating",
                                                     "BestEffort",           "NotBestEffort",
                                                     "PriorityClass",        "CrossNamespacePodAffinity",
                                                     "VolumeAttributesClass"};

template <typename List>
bool one_of(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool counts_whole(std::string_view name) {
  return one_of(kStandardResources, name) && name != "cpu" && name != "memory" &&
         name.find("cpu") == std::string_view::npos && name.find("memory") == std::string_view::npos &&
         name.find("storage") == std::string_view::npos;
}

class ResourceQuotaKind : public Kind {
 public:
  using Kind::Kind;

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out = check(object);
    const Json& scopes = member_at(object, "spec.scopes");
    if (!semantic_equal(scopes, member_at(old, "spec.scopes")))
      out.push_back(invalid_value(FieldPath("spec.scopes"), scopes, "field is immutable"));
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {
        name_column(),
        {"Request", "string", "", "Request represents a minimum amount of cpu/memory that a container may consume.", 0},
        {"Limit", "string", "",
         "Limits control the maximum amount of cpu/memory that a container may use independent of contention on "
         "the node.",
         0},
        age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& status = member(object, "status");
    std::string requests, limits;
    for (const auto& [name, hard] : map_of(status, "hard").items()) {
      std::string& out = name.starts_with("limits.") ? limits : requests;
      const std::string& used = text_of(map_of(status, "used"), name);
      out += (out.empty() ? "" : ", ") + name + ": " + (used.empty() ? std::string("0") : used) + "/" + as_text(hard);
    }
    return Json::array({text_of(meta, "name"), requests, limits, age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static void check_amount(FieldErrors& out, const FieldPath& path, const std::string& name, const std::string& text) {
    const auto amount = api::Quantity::parse(text);
    if (!amount) return;  // decoding has already refused it
    if (amount->sign() < 0) out.push_back(invalid(path, text, "must be greater than or equal to 0"));
    if (counts_whole(name) && amount->milli_value() % 1000 != 0)
      out.push_back(invalid(path, text, "must be an integer"));
  }

  static void check_scope_selector(FieldErrors& out, const Json& selector) {
    const FieldPath path("spec.scopeSelector.matchExpressions");
    for (const Json& want : list_of(selector, "matchExpressions")) {
      const std::string& scope = text_of(want, "scopeName");
      const std::string& op = text_of(want, "operator");
      const size_t values = count_of(member(want, "values"));
      if (!one_of(kScopes, scope)) out.push_back(invalid(path.child("scopeName"), scope, "unsupported scope"));
      if (scope != "PriorityClass" && scope != "VolumeAttributesClass" && one_of(kScopes, scope) && op != "Exists")
        out.push_back(invalid(path.child("operator"), op,
                              "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                              "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                              "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"));
      if (op == "In" || op == "NotIn") {
        if (values == 0)
          out.push_back(required(path.child("values"),
                                 "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"));
      } else if (op == "Exists" || op == "DoesNotExist") {
        if (values != 0)
          out.push_back(
              invalid_value(path.child("values"), member(want, "values"),
                            "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"));
      } else {
        out.push_back(invalid(path.child("operator"), op, "not a valid selector operator"));
      }
    }
  }

  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    for (const auto& [name, value] : map_of(spec, "hard").items()) {
      const FieldPath path = FieldPath("spec.hard").key(name);
      add_problems(out, path, name, api::qualified_name_problems(name));
      if (name.find('/') == std::string::npos && !one_of(kStandardResources, name) && !name.starts_with("hugepages-") &&
          !name.starts_with("requests.hugepages-"))
        out.push_back(invalid(path, name, "must be a standard resource for quota"));
      check_amount(out, path, name, as_text(value));
    }
    const Json& scopes = list_of(spec, "scopes");
    const FieldPath path("spec.scopes");
    for (const Json& scope : scopes)
      if (!one_of(kScopes, as_text(scope))) out.push_back(invalid_value(path, scopes, "unsupported scope"));
    for (const auto& [one, other] :
         {std::pair("BestEffort", "NotBestEffort"), std::pair("Terminating", "NotTerminating")})
      if (one_of(scopes, one) && one_of(scopes, other))
        out.push_back(invalid_value(path, scopes, "conflicting scopes"));
    check_scope_selector(out, member(spec, "scopeSelector"));
    return out;
  }
};

}  // namespace

void add_quota_kinds(KindRegistry& registry) {
  KindInfo info = core_kind_info("ResourceQuota", "resourcequotas", "resourcequota", true);
  info.short_names = {"quota"};
  with_status(info);
  info.delete_returns_object = true;
  registry.add(std::make_unique<ResourceQuotaKind>(std::move(info)));
}

}  // namespace dra::apiserver
