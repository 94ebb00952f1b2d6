#include "pkg/apiserver/model/guard.h"

#include <exception>

#include "pkg/log/log.h"

namespace dra::apiserver {

bool run_guarded(std::string_view what, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const std::exception& e) {
    log::error("API server: a step failed", {{"step", what}, {"err", e.what()}});
    return false;
  }
}

}  // namespace dra::apiserver
