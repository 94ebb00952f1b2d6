#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation {

nlohmann::json AllocationTest::body(size_t i) const {
  return nlohmann::json::parse(write(i).body);
}

}  // namespace dra::allocation
