#include "pkg/apiserver/rest/negotiate.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

struct AcceptClause {
  std::string type;
  std::map<std::string, std::string> params;
  double q = 1;
};

std::vector<AcceptClause> parse_accept(std::string_view accept) {
  std::vector<AcceptClause> out;
  for (const auto& part : split(accept, ',')) {
    AcceptClause c;
    bool first = true;
    for (const auto& piece : split(part, ';')) {
      const std::string_view text = trim(piece);
      if (first) {
        c.type = text;  // upper case is another type for upstream
        first = false;
        continue;
      }
      const size_t eq = text.find('=');
      if (eq == std::string_view::npos) continue;
      const std::string name = to_lower(trim(text.substr(0, eq)));
      const std::string value(trim(text.substr(eq + 1)));
      if (name == "q") {
        c.q = std::atof(value.c_str());
      } else {
        c.params[name] = value;
      }
    }
    if (!c.type.empty()) out.push_back(std::move(c));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.q > b.q; });
  return out;
}

bool accept_shape(const AcceptClause& c, OutputForm& form) {
  auto as = c.params.find("as");
  if (as == c.params.end()) return true;
  auto param = [&](const char* name) {
    auto it = c.params.find(name);
    return it == c.params.end() ? std::string() : it->second;
  };
  if (param("g") != "meta.k8s.io") return false;
  form.shape_version = param("v");
  if (form.shape_version != "v1" && form.shape_version != "v1beta1") return false;
  if (as->second == "Table") {
    form.shape = OutputShape::kTable;
  } else if (as->second == "PartialObjectMetadata" || as->second == "PartialObjectMetadataList") {
    form.shape = OutputShape::kPartialObjectMetadata;
    form.partial_list = as->second == "PartialObjectMetadataList";
  } else {
    return false;
  }
  return true;
}

}  // namespace

StatusOr<OutputForm> negotiate_output(std::string_view accept, bool watchable) {
  if (trim(accept).empty()) return OutputForm{};
  bool shape_refused = false;
  for (const AcceptClause& c : parse_accept(accept)) {
    OutputForm form;
    const bool json = c.type == "application/json" || c.type == "*/*";
    form.yaml = c.type == "application/yaml";
    form.protobuf = c.type == "application/vnd.kubernetes.protobuf";
    if (!json && !form.yaml && !form.protobuf) continue;
    if (!accept_shape(c, form) || (form.protobuf && form.shape == OutputShape::kTable)) {
      shape_refused = true;
      continue;
    }
    return form;
  }
  const std::string types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  if (shape_refused) {
    return fail_status(not_acceptable("only the following media types are accepted: " + types));
  }
  std::string text = "406: Not Acceptable\n\nAvailable representations: " + types;
  if (watchable) text += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
  Status s = not_acceptable(text);
  s.has_details = true;
  return fail_status(s);
}

std::string media_type(std::string_view content_type) {
  return to_lower(trim(content_type.substr(0, content_type.find(';'))));
}

bool wants_aggregated_discovery(std::string_view accept) {
  for (const AcceptClause& c : parse_accept(accept)) {
    if (c.type != "application/json" && c.type != "*/*") continue;
    auto as = c.params.find("as");
    if (as == c.params.end()) return false;
    auto g = c.params.find("g");
    auto v = c.params.find("v");
    if (as->second == "APIGroupDiscoveryList" && g != c.params.end() && g->second == "apidiscovery.k8s.io" &&
        v != c.params.end() && v->second == "v2") {
      return true;
    }
  }
  return false;
}

}  // namespace dra::apiserver
