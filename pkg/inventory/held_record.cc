#include "pkg/inventory/held_record.h"

#include <algorithm>

namespace dra::inventory {

using identity::Value;

identity::Records recorded_in(const api::AllocationResult& allocation) {
  identity::Records records;
  for (const api::DeviceAllocationConfiguration& entry : allocation.config)
    if (entry.source == "FromClass" && entry.opaque && entry.opaque->driver == identity::kRecordDriver)
      identity::decode_records(entry.opaque->parameters_json, records);
  return records;
}

HeldRecord::HeldRecord(const identity::Record& record, Strings& strings)
    : node_text(record.node.value_or("")), shared(record.shared), strings_(strings) {
  const auto read = [&](const std::vector<std::string>& texts, std::vector<Value>& into) {
    for (const std::string& text : texts)
      into.push_back({strings.intern(text), strings.intern(text.substr(0, text.find(' ')))});
    std::sort(into.begin(), into.end());
  };
  read(record.own, own);
  read(record.part_of, part_of);
  if (record.node) node = strings.intern(*record.node);
  if (record.type) type = strings.intern(*record.type);
}

HeldRecord::~HeldRecord() {
  for (const auto* list : {&own, &part_of})
    for (const Value& value : *list) {
      strings_.release(value.text);
      strings_.release(value.space);
    }
  if (node != kNoStr) strings_.release(node);
  if (type != kNoStr) strings_.release(type);
}

}  // namespace dra::inventory
