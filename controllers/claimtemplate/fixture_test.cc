#include <nlohmann/json.hpp>

#include "controllers/claimtemplate/claimtemplate_fixture.h"

namespace dra::claimtemplate {

std::vector<std::string> ClaimTemplate::published(const reconcile::Write& write) {
  EXPECT_EQ(write.verb, reconcile::Verb::kApply);
  EXPECT_EQ(write.subresource, "status");
  std::vector<std::string> entries;
  const nlohmann::json body = nlohmann::json::parse(write.body);
  for (const nlohmann::json& entry : body["status"]["resourceClaimStatuses"])
    entries.push_back(entry["name"].get<std::string>() + "=" + entry.value("resourceClaimName", "(none)"));
  return entries;
}

}  // namespace dra::claimtemplate
