// doctor names annotations about evictions that count as something else than they say.
#include <gtest/gtest.h>

#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect::doctor_annotations_test {
namespace {

std::string with(const std::string& annotation, const std::string& value) {
  TwoNodes world;
  auto changed = std::make_shared<api::DeviceClass>(*world.objects.classes.at("gpu"));
  changed->metadata.annotations["dra-controller-manager/" + annotation] = value;
  world.objects.classes["gpu"] = changed;
  return diagnosed(world.objects, "device classes");
}

TEST(DoctorAnnotations, OfClasses) {
  for (const char* value : {"off", "advice", "on"}) EXPECT_EQ(with("defragment", value), "fine") << value;
  EXPECT_EQ(with("defragment", "Off"),
            "annotation dra-controller-manager/defragment of class gpu is \"Off\", which is not off, advice or on, and "
            "counts as off");
  EXPECT_EQ(with("preemption", "never"), "fine");
  EXPECT_EQ(with("preemption", "no"),
            "annotation dra-controller-manager/preemption of class gpu is \"no\", and only never has a meaning");
}

TEST(DoctorAnnotations, OfNamespaces) {
  for (const auto& [value, good] : {std::pair{"0", true}, {"1000", true}, {"01", false}, {"many", false}}) {
    TwoNodes world;
    auto ns = named_object<api::Namespace>("", "ml");
    ns->metadata.annotations["dra-controller-manager/moves-per-hour"] = value;
    world.objects.namespaces["ml"] = ns;
    EXPECT_EQ(diagnosed(world.objects, "device classes") == "fine", good) << value;
  }
}

}  // namespace
}  // namespace dra::inspect::doctor_annotations_test
