#include "pkg/api/topology_level.h"

#include <gtest/gtest.h>

namespace dra::api::topology_level_test {

TEST(TopologyLevel, LabelsAndAttributes) {
  for (const char* good : {"rack", "example.com/rack", "attribute:gpu.example.com/clique", "attribute:a/_B1"})
    EXPECT_EQ(topology_level_problems(good), Problems{}) << good;
  for (const std::string& bad :
       {std::string("attribute:"), std::string("attribute:clique"), std::string("attribute:/clique"),
        std::string("attribute:gpu.example.com/"), std::string("attribute:gpu.example.com/1a"),
        std::string("attribute:gpu.example.com/a-b"), std::string("attribute:gpu.example.com/a/b"),
        std::string("attribute:GPU/a"), "attribute:gpu.example.com/" + std::string(33, 'a'),
        "attribute:" + std::string(64, 'a') + "/a", std::string("other:gpu.example.com/a"), std::string("")})
    EXPECT_NE(topology_level_problems(bad), Problems{}) << bad;
}

}  // namespace dra::api::topology_level_test
