#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

nlohmann::json AllocationTest::body(size_t i) const {
  reconcile::Write built = write(i);
  protocol::build_body(built);
  return nlohmann::json::parse(built.body);
}

}  // namespace dra::allocation
