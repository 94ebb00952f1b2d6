#include "controllers/allocation/bind/bind_steps.h"

namespace dra::allocation {

std::span<const BindStep> bind_steps() {
  static constexpr BindStep kSteps[] = {bind_volumes, bind_conditions};
  return kSteps;
}

StepAnswer run_bind_steps(const BindContext& context, std::span<const BindStep> steps) {
  for (const BindStep step : steps)
    if (StepAnswer answer = step(context); answer.kind != StepAnswer::Kind::kDone) return answer;
  return StepAnswer::done();
}

}  // namespace dra::allocation
