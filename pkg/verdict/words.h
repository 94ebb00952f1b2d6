// Words: makes texts with arbitrary contents fit for a sentence. Pure. Internal to pkg/verdict.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dra::verdict {

// Valid UTF-8 on one line, at most `limit` bytes, cut with "...": control characters become spaces, runs of white space
// one space. Reads no more than a few times `limit` bytes of the text.
std::string clean(std::string_view text, size_t limit);

// 1234567 -> "1,234,567".
std::string grouped(uint64_t number);
// "1 device", "2 devices".
std::string counted(uint64_t number, std::string_view noun);

// An amount in the units of placement (thousandths of a cpu, else whole units) as a quantity: "500m", "96", "16Gi".
std::string amount_text(std::string_view resource, int64_t amount);

}  // namespace dra::verdict
