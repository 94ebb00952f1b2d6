// Order: in which order pods that move leave, so that none waits for another: its new place is free before it leaves,
// but for what it holds itself.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/preempt/preempt.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

// Of Answer::pods of who_must_move(). Empty: in every order somebody waits, as two that change their places.
std::vector<uint32_t> order_of_moves(World& world, const Answer& answer);

// Those of `pods` who could leave now, with everybody else where he is, in their order. They must move in the answer.
std::vector<uint32_t> with_a_free_place(World& world, const Answer& answer, const std::vector<uint32_t>& pods);

}  // namespace dra::preempt
