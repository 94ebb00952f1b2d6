#include "pkg/api/decode/protobuf_document.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/api/decode/protobuf_shape.h"
#include "pkg/base/protobuf_wire.h"

namespace dra::api::protobuf_document_test {

using detail::ProtobufDocument;
using detail::WireValue;

std::string field(int number, std::string_view bytes) {
  std::string out;
  append_bytes_field(out, number, bytes);
  return out;
}

// A ResourceClaim with so many opaque parameters.
std::string claim_with(int configs) {
  std::string devices;
  for (int i = 0; i < configs; ++i)
    devices += field(3, field(2, field(1, field(1, "gpu.example.com") + field(2, field(1, R"({"sharing": 1})")))));
  return field(2, field(1, devices));
}

struct Walk {
  const ProtobufDocument& document;
  size_t most = 0;
  int parameters = 0;

  void visit(const WireValue& value) {
    most = std::max(most, document.open_parts());
    if (value.kind() == WireValue::Kind::kObject)
      value.each_member([this](std::string_view key, const WireValue& member) {
        if (key == "sharing") ++parameters;
        visit(member);
        return true;
      });
    if (value.kind() == WireValue::Kind::kArray)
      value.each_element([this](const WireValue& element) {
        visit(element);
        return true;
      });
  }
};

// An object has as many parameters as its author likes, and each is a JSON text with a parser of its own.
TEST(ProtobufDocument, WhatAnElementHoldsIsClosedWithIt) {
  const detail::ProtobufShape* shape = detail::protobuf_shape("resource.k8s.io/v1", "ResourceClaim");
  ASSERT_NE(shape, nullptr);
  size_t most[2] = {};
  for (const int configs : {1, 32}) {
    ProtobufDocument document;
    Walk walk{document};
    const std::string message = claim_with(configs);
    walk.visit(document.open(message, *shape));
    ASSERT_TRUE(document.ok()) << document.problem();
    EXPECT_EQ(walk.parameters, configs);
    // Each of the elements is a field of their parent; they may add nothing else.
    most[configs == 32] = walk.most - static_cast<size_t>(configs);
    document.close();
    EXPECT_EQ(document.open_parts(), 0U);
  }
  EXPECT_EQ(most[0], most[1]);
}

}  // namespace dra::api::protobuf_document_test
