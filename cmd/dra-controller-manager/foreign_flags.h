// Flags of kube-controller-manager that this program does not have, and what to use instead of each.
#pragma once

#include <string>
#include <vector>

namespace dra::cmd {

// As kube-controller-manager's own parser would take them: "--leader_elect" means "--leader-elect", "-v=4" "--v=4".
std::vector<std::string> normalised(const std::vector<std::string>& arguments);

// What to do about the first argument that is such a flag, as one sentence; empty when there is none. `arguments` must
// be normalised.
std::string foreign_flag(const std::vector<std::string>& arguments);

}  // namespace dra::cmd
