// The release of Kubernetes that the embedded API server serves: 1.36 unless somebody says otherwise. A process serves
// one release; say which before the first server or schema is made (serve_release), or between tests.
//
// What differs from 1.36 is data: release_rows() lists it, each row with the marker or file that it was read from. No
// 1.37 server could be asked, so nothing here is measured. 1.38 is a preview as of 1.38.0-alpha.2: only what has
// landed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::apiserver {

inline constexpr int kOldestServedRelease = 36, kNewestServedRelease = 38;

struct ReleaseRow {
  int since;  // minor version
  std::string_view what;
  std::string_view source;
};
const std::vector<ReleaseRow>& release_rows();

// The minor version.
int served_release();
// "v1.37.0", as GET /version says it.
std::string served_version();
// Whether an alpha gate of the served release is on: off until serve_release() names it.
bool serves_gate(std::string_view gate);

// "1.36", "1.37" or "1.38"; empty: 1.36. `gates`: "Name=true,Name=false", of those that change what this server does.
Result<void> serve_release(std::string_view version, std::string_view gates = "");
// `gates` without those that a manager beside the server does not know: of kinds that decide nothing there.
std::string gates_of_manager(std::string_view gates);

}  // namespace dra::apiserver
