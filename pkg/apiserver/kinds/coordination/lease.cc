#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/coordination/kinds.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

// k8s.io/api/coordination/v1 of 1.36.
std::vector<SchemaTable> coordination_tables() {
  return {{"coordination/v1", R"(
type Lease
1 metadata ObjectMeta
2 spec LeaseSpec

type LeaseSpec
1 holderIdentity *string
2 leaseDurationSeconds *int32
3 acquireTime *MicroTime
4 renewTime *MicroTime
5 leaseTransitions *int32
6 strategy *string
7 preferredHolder *string
)"}};
}

namespace {

class LeaseKind : public Kind {
 public:
  using Kind::Kind;

  // Fields of a gate (CoordinatedLeaderElection) that is off.
  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    spec.erase("strategy");
    spec.erase("preferredHolder");
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json&) const override {
    return check(object);
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Holder", "string", "",
             "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is "
             "used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
             0},
            age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), text_of(member(object, "spec"), "holderIdentity"),
                        age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    const int64_t duration = int_of(spec, "leaseDurationSeconds");
    if (is_set(spec, "leaseDurationSeconds") && duration <= 0) {
      out.push_back(invalid_value(FieldPath("spec.leaseDurationSeconds"), duration, "must be greater than 0"));
    }
    const int64_t transitions = int_of(spec, "leaseTransitions");
    if (transitions < 0) {
      out.push_back(
          invalid_value(FieldPath("spec.leaseTransitions"), transitions, "must be greater than or equal to 0"));
    }
    return out;
  }
};

}  // namespace

void add_coordination_kinds(KindRegistry& registry) {
  KindInfo info = kind_info({"coordination.k8s.io", "v1"}, "coordination/v1", "Lease", "leases", "lease", true);
  info.allow_create_on_update = true;
  info.allow_unconditional_update = false;
  registry.add(std::make_unique<LeaseKind>(std::move(info)));
}

}  // namespace dra::apiserver
