// Lists as answers, of GET and of deletecollection. Internal to this package.
//
// What a list contains is read from the store at once; it is selected and encoded in portions, each in a turn of the
// request's flow, because the objects of one namespace may have hundreds of megabytes.
#pragma once

#include <functional>
#include <vector>

#include "pkg/apiserver/rest/call.h"
#include "pkg/apiserver/rest/watch.h"

namespace dra::apiserver {

// Answers with the list that the options describe.
void answer_list(const Env& env, const CallPtr& call, const ListOptions& options);
// The step of run_in_turns() that answers with these objects, in the form the call asks for, as of a revision.
std::function<bool()> steps_to_answer(const Env& env, const CallPtr& call, std::vector<StoredPtr> objects,
                                      uint64_t revision);

}  // namespace dra::apiserver
