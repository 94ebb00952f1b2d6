// Label and field selectors in queries. Plain values; pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/status.h"

namespace dra::apiserver {

struct LabelRequirement {
  enum class Operator { kIn, kNotIn, kExists, kNotExists, kGreater, kLess };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;
};

// All requirements must hold; none selects everything.
class LabelSelector {
 public:
  // The 400 text of k8s.io/apimachinery/pkg/labels on failure.
  static StatusOr<LabelSelector> parse(std::string_view text);
  // `labels` may be null.
  bool matches(const Json& labels) const;
  bool empty() const { return requirements_.empty(); }

 private:
  std::vector<LabelRequirement> requirements_;
};

class FieldSelector {
 public:
  struct Term {
    std::string label;
    std::string value;
    bool equal = true;
  };
  static StatusOr<FieldSelector> parse(std::string_view text, const Kind& kind, const GroupVersion& gv);
  // Checks the syntax alone, not which labels a kind has. The 400 text of k8s.io/apimachinery/pkg/fields.
  static StatusOr<std::vector<Term>> parse_terms(std::string_view text);
  bool matches(const Json& object, const Kind& kind, const GroupVersion& gv) const;
  bool empty() const { return terms_.empty(); }

 private:
  std::vector<Term> terms_;
};

}  // namespace dra::apiserver
