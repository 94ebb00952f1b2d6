#include "pkg/inspect/verbs/explain_causes.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/groups.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

constexpr size_t kNamed = 3;  // of a row, but for -o wide

// Statements that say how things are, not why it waits.
bool says_why(const Statement& statement) {
  static const std::set<std::string, std::less<>> kState{
      "PodWaits",   "ClaimPending", "NoPodUsesIt",       "GroupMember",   "ExtendedResource", "Fits",
      "DoesNotFit", "WaitsAtGate",  "WaitsForScheduler", "ManagerServes", "ConditionSays"};
  return !kState.contains(statement.code);
}

struct FoundCause {
  std::string code, why;
  std::string subject;  // what the cause is about, where causes of one code are different ones
  Status status = Status::kYes;
};

std::string without_figures(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

FoundCause found_in(const Answer& answer) {
  FoundCause found{"Unknown", "not known", "", answer.status};
  if (answer.statements.empty()) return found;
  const auto of_code = [&](std::string_view code) {
    return std::find_if(answer.statements.begin(), answer.statements.end(),
                        [&](const Statement& one) { return one.code == code; });
  };
  const auto end = answer.statements.end();
  const auto why = std::find_if(answer.statements.begin(), end, says_why);
  // A refusal is told by its headline and counted by its main cause.
  const auto head = of_code("DoesNotFit");
  const Statement& shown = head != end ? *head : why != end ? *why : answer.statements.back();
  const Statement& cause = why != end ? *why : shown;
  found.code = cause.code;
  found.why = shown.message;
  if (found.why.starts_with("Does not fit: ")) found.why.erase(0, std::string_view("Does not fit: ").size());
  for (const auto& [key, names] : cause.names)
    if (key == "classes" || key == "groups") found.subject += join(names, ",");
  if (cause.code.starts_with("Node") || found.code == "Refused" || found.code == "WaitsAtGate")
    found.subject += without_figures(cause.message);
  if (cause.code == "TemplateMissing" || cause.code == "QuotaRefuses") found.subject += cause.message;
  return found;
}

struct CauseRow {
  FoundCause cause;
  std::vector<std::string> pods, claims;
  std::string oldest;  // creationTimestamp
};

// Pods that differ only in their names get one answer; empty: this pod gets its own.
std::string template_of(const State& state, const api::Pod& pod) {
  const Chain chain = chain_of(state, pod);
  if (!chain.broken.empty() || chain.hidden > 0) return "";
  for (const Claim& claim : chain.claims)
    if (claim->status.allocation) return "";
  return shape_of({&pod, chain.claims, ""});
}

class Causes {
 public:
  Causes(const State& state, const AskCause& ask) : state_(state), ask_(ask) {}

  void add(const api::Pod& pod) {
    const std::string shape = template_of(state_, pod);
    const auto known = shape.empty() ? known_.end() : known_.find(shape);
    FoundCause found = known != known_.end() ? known->second : may_ask() ? found_in(ask_.pod(pod)) : not_looked_at();
    if (!shape.empty()) known_.emplace(shape, found);
    CauseRow& row = row_of(std::move(found), pod.metadata.creation_timestamp);
    row.pods.push_back(pod.metadata.key());
  }
  void add(const Claim& claim) {
    FoundCause found = may_ask() ? found_in(ask_.claim(claim)) : not_looked_at();
    row_of(std::move(found), claim->metadata.creation_timestamp).claims.push_back(claim->metadata.key());
  }

  std::vector<CauseRow> take() {
    std::vector<CauseRow> rows;
    for (auto& [key, row] : rows_) rows.push_back(std::move(row));
    std::stable_sort(rows.begin(), rows.end(), [](const CauseRow& a, const CauseRow& b) {
      return a.pods.size() + a.claims.size() > b.pods.size() + b.claims.size();
    });
    return rows;
  }

 private:
  bool may_ask() { return asked_++ < kMostAskedAbout; }
  static FoundCause not_looked_at() {
    return {"NotLookedAt",
            "not looked at: more than " + std::to_string(kMostAskedAbout) + " wait; choose with -n or -l", "",
            Status::kUnknown};
  }
  CauseRow& row_of(FoundCause found, const std::string& created) {
    const std::string key = found.code + "\n" + found.subject;
    const auto [at, is_new] = rows_.try_emplace(key);
    if (is_new) at->second.cause = std::move(found);
    std::string& oldest = at->second.oldest;
    if (is_new || created < oldest) oldest = created;
    return at->second;
  }

  const State& state_;
  const AskCause& ask_;
  size_t asked_ = 0;
  std::map<std::string, FoundCause> known_;
  std::map<std::string, CauseRow> rows_;
};

std::string first_of(const std::vector<std::string>& names) {
  return join_some(names, kNamed);
}

Row row_for(const CauseRow& row, Timestamp now) {
  std::vector<std::string> all = row.pods;
  for (const std::string& claim : row.claims) all.push_back("claim " + claim);
  const Tone tone = row.cause.status == Status::kYes ? Tone::kGood : Tone::kBad;
  std::string names;  // for -o name: a line each
  for (const std::string& key : row.pods) names += (names.empty() ? "pod/" : "\npod/") + key.substr(key.find('/') + 1);
  for (const std::string& key : row.claims)
    names += (names.empty() ? "resourceclaim/" : "\nresourceclaim/") + key.substr(key.find('/') + 1);
  return {names,
          {static_cast<uint64_t>(row.pods.size()), static_cast<uint64_t>(row.claims.size()), Cell(row.cause.code, tone),
           age_text(row.oldest, now), first_of(all), row.cause.why, Cell::list(row.pods), Cell::list(row.claims)}};
}

Status worse(Status a, Status b) {
  if (a == Status::kNo || b == Status::kNo) return Status::kNo;
  return a == Status::kUnknown || b == Status::kUnknown ? Status::kUnknown : Status::kYes;
}

bool in_scope(const WaitingScope& scope, const api::ObjectMeta& metadata) {
  return (scope.ns.empty() || metadata.ns == scope.ns) &&
         (scope.labels.match_expressions.empty() || api::matches(scope.labels, metadata.labels));
}

bool asks_for_devices(const Objects& objects, const api::Pod& pod) {
  return !pod.resource_claims.empty() || waits_for_manager(objects, pod) || asked_by_class(objects, pod).has_value();
}

}  // namespace

std::vector<const api::Pod*> waiting_pods(const State& state, const WaitingScope& scope) {
  std::vector<const api::Pod*> pods;
  for (const auto& [key, pod] : state.objects.pods) {
    if (pod->terminal() || pod->metadata.deleting() || !in_scope(scope, pod->metadata)) continue;
    const bool stuck = !pod->node_name.empty() && pod->phase == "Pending" && !pod->resource_claims.empty() &&
                       !chain_of(state, *pod).broken.empty();
    if (stuck || (pod->node_name.empty() && asks_for_devices(state.objects, *pod))) pods.push_back(pod.get());
  }
  std::stable_sort(pods.begin(), pods.end(), [](const api::Pod* a, const api::Pod* b) {
    return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
  });
  return pods;
}

std::vector<Claim> waiting_claims(const Objects& objects, const WaitingScope& scope) {
  std::set<std::string> of_pods;
  for (const auto& [key, pod] : objects.pods)
    if (!pod->done())
      for (const std::string& claim : protocol::claim_keys_of(*pod)) of_pods.insert(claim);
  std::vector<Claim> claims;
  const auto made_for_a_pod = [](const api::ResourceClaim& claim) {
    const api::OwnerReference* owner = claim.metadata.controller();
    return owner != nullptr && owner->kind == "Pod";
  };
  for (const auto& [key, claim] : objects.claims)
    if (!made_for_a_pod(*claim) && !claim->status.allocation && !claim->metadata.deleting() && !of_pods.contains(key) &&
        in_scope(scope, claim->metadata))
      claims.push_back(claim);
  std::stable_sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
  });
  return claims;
}

Answer explain_causes(const State& state, const std::vector<const api::Pod*>& pods, const std::vector<Claim>& claims,
                      const AskCause& ask, const std::string& nothing) {
  Causes causes(state, ask);
  for (const api::Pod* pod : pods) causes.add(*pod);
  for (const Claim& claim : claims) causes.add(claim);
  Answer answer{"DRAExplain"};
  Table table{"",
              "causes",
              {{"PODS", "pods"},
               {"CLAIMS", "claims"},
               {"CAUSE", "cause"},
               {"OLDEST", "oldest"},
               {"FIRST", "first"},
               {"WHY", "why"},
               {"ALL PODS", "podNames", true},
               {"ALL CLAIMS", "claimNames", true}},
              {}};
  for (const CauseRow& row : causes.take()) {
    answer.status = worse(answer.status, row.cause.status);
    table.rows.push_back(row_for(row, state.objects.taken));
  }
  if (table.rows.empty()) {
    const bool unseen = state.objects.hides("pods") || state.objects.hides("resourceclaims");
    answer.say(unseen ? "NotVisible" : "NothingWaits",
               std::string(unseen ? "Nothing that is visible" : "Nothing") + nothing + " waits for devices.");
    if (unseen) answer.status = Status::kUnknown;
  }
  answer.tables.push_back(std::move(table));
  for (std::string& note : hidden_notes(state.objects)) answer.notes.push_back(std::move(note));
  return answer;
}

}  // namespace dra::inspect
