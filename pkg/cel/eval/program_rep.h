// What a Program holds. Internal to pkg/cel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/cel/check/environment.h"
#include "pkg/cel/eval/eval_nodes.h"
#include "pkg/cel/eval/program.h"

namespace dra::cel {

struct Program::Rep {
  std::shared_ptr<const Environment::Rep> environment;
  std::string expression;
  std::string type;
  Reads reads;
  Arena arena;  // constants
  std::vector<NodePtr> nodes;
  const Node* root = nullptr;
  uint32_t locals = 0;
};

// Why building a program can fail: "program instantiation failed: ...", without position.
struct LoweringError {
  CompileCategory category;
  std::string message;
};

}  // namespace dra::cel
