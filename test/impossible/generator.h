// Random pods, claims, templates, classes and slices in states that no client should write: parts are missing,
// contradict each other, or name objects that do not exist. Stored documents: without apiVersion and kind.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"

namespace dra::impossible {

using Json = nlohmann::json;

// A merge patch for the API server's stored document of a valid object, or (shared ones) a document.
struct Document {
  std::string table;  // of the API server's store
  std::string key;
  Json body;
};

class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {}
  // Slices and classes, shared by all groups.
  std::vector<Document> shared();
  // The objects of one namespace: some claims and templates, and pods that use them.
  std::vector<Document> group(const std::string& ns);

 private:
  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  std::string pick(const std::vector<std::string>& of) { return of[random_.below(of.size())]; }
  Json metadata(const std::string& ns, const std::string& name);
  Json owners(const std::string& ns);
  Json request();
  Json requests();
  Json tolerations();
  Json allocation();
  Json consumers(const std::string& ns);
  Json claim(const std::string& ns, const std::string& name);
  Json pod(const std::string& ns, const std::string& name);
  Json slice(const std::string& name);

  Random& random_;
};

}  // namespace dra::impossible
