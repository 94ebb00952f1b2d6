// PodContext: all that the steps of one reconcile of one pod read. Nothing in it changes while they run: a step returns
// what it wants as effects, added to the ReconcileResult that is handed along (steps.h has the steps, in order).
//
//   const PodFacts facts = derive_facts(view, pod, tools.options);
//   const PodContext context = context_of(view, pod, facts, tools);
//   ReconcileResult out;
//   run_steps(context, pod_steps(), out);
//
// The functions of this folder take the context first and the outcome last. `out` is only added to; a function without
// it has no effects. A context is a handful of references, made anew for each reconcile, while a group keeps the facts:
// copy one to ask the same with one part changed (serve_by_claim() supposes claims in this way).
#pragma once

#include <vector>

#include "controllers/allocation/pod_facts.h"
#include "controllers/allocation/tools.h"
#include "pkg/protocol/extended.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct GroupHints;

struct PodContext {
  const reconcile::View& view;
  const api::Pod& pod;
  Role role;  // not kNone
  const PodState& state;
  const std::vector<protocol::ExtendedResource>& extended;
  const std::vector<protocol::ExtendedResource>* claimed;  // PodFacts::claimed, or a supposed claim; null: nothing
  const Tools& tools;
  GroupHints* group = nullptr;  // of the members of a group that is not launched; null: the pod is reconciled alone
};

// All arguments must outlive the context.
inline PodContext context_of(const reconcile::View& view, const api::Pod& pod, const PodFacts& facts,
                             const Tools& tools, GroupHints* group = nullptr) {
  return {view, pod, facts.role, facts.state, facts.extended, facts.claimed ? &*facts.claimed : nullptr, tools, group};
}

inline bool is_releasing(const PodContext& context) {
  return is_releasing(context.role, context.tools.options);
}
inline bool is_served_by_claim(const PodContext& context) {
  return is_served_by_claim(context.pod, context.role, context.extended, context.tools.options);
}
// Now, or once its gate is lifted.
inline bool is_bound_by_us(const PodContext& context) {
  return context.tools.options.mode == Mode::kBind && is_ours_to_bind(context.pod, context.tools.options);
}

}  // namespace dra::allocation
