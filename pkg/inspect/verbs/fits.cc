#include "pkg/inspect/verbs/fits.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <set>

#include "pkg/inspect/state/groups.h"
#include "pkg/inspect/state/priorities.h"
#include "pkg/inspect/state/quota.h"
#include "pkg/inspect/state/successor.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/inspect/verbs/promised.h"
#include "pkg/protocol/groups.h"

namespace dra::inspect {
namespace {

using allocator::Outcome;

constexpr const char* kQuotaRefuses = "QuotaRefuses";
constexpr const char* kReferenceMissing = "ReferenceMissing";
constexpr std::string_view kOwnUid = "fits-";       // begins the uids of claims that are on no server
constexpr std::string_view kOfFile = "fits-file-";  // of claims of the file that workloads name

// The subject of a question: a workload, a claim or a template.
struct Asked {
  std::string what;
  const Workload* workload = nullptr;
  Claim claim;  // if there is no workload
  uint32_t copies = 1;
  // For a pod group: its members, one per copy, and how many must fit at once.
  std::vector<const Workload*> members;
  uint32_t needed = 0;
  protocol::TopologyWish topology{};
  const PodGroup* group = nullptr;

  const Workload* of_copy(uint32_t copy) const { return members.empty() ? workload : members[copy % members.size()]; }
};

// The cluster together with the file.
struct Sources {
  const Objects& objects;
  std::map<std::string, Claim> claims;  // of the file; and those of the cluster that copies took, as allocated
  std::map<std::string, std::shared_ptr<const api::ResourceClaimTemplate>> templates;
  std::set<const Workload*> without_volumes;  // whose volumes cannot be judged
};

Claim unallocated(const Claim& claim) {
  if (!claim->status.allocation) return claim;
  auto copy = std::make_shared<api::ResourceClaim>(*claim);
  copy->status = {};
  return copy;
}

// One run over one state: places copies one after the other and counts them.
class Fitting {
 public:
  Fitting(const Sources& sources, StateOptions options)
      : sources_(sources),
        claims_(sources.claims),
        quotas_(sources.objects, options.empty),
        state_(sources.objects, std::move(options)) {}

  Result<FitAnswer> run(const Asked& asked, bool count_more) {
    if (const std::string why = refused_group(asked); !why.empty()) {
      FitAnswer refused;
      refused.what = asked.what;
      refused.copies = asked.copies;
      refused.fit = Fit::kNever;
      refused.why = why;
      return refused;
    }
    if (asked.needed > 0) return run_group(asked);
    FitAnswer answer;
    answer.what = asked.what;
    answer.copies = asked.copies;
    Outcome outcome = Outcome::kFeasible;
    for (; answer.placed < asked.copies; ++answer.placed) {
      auto placed = one_more(asked, answer.placed);
      if (!placed) return fail(placed.error());
      outcome = placed->outcome;
      if (outcome != Outcome::kFeasible) {
        answer.why = placed->why;
        answer.cause = placed->cause;
        break;
      }
      if (answer.nodes.size() < 100) answer.nodes.push_back(placed->node);
      if (answer.placed == 0) answer.first = std::move(placed->results);
    }
    answer.fit = outcome == Outcome::kFeasible                                   ? Fit::kNow
                 : outcome == Outcome::kInfeasible || outcome == Outcome::kError ? Fit::kNever
                                                                                 : Fit::kUnknown;
    if (answer.fit == Fit::kNow && count_more) add_more(asked, answer);
    return answer;
  }

 private:
  // As the manager: a group with a field that is not known is not placed.
  std::string refused_group(const Asked& asked) const {
    if (asked.group == nullptr) return "";
    const api::UnknownField* field =
        api::refusing_field(asked.group->unknown, state_.inventory.features().ignored_fields);
    return field == nullptr ? "" : api::why_refused(*field);
  }

  // Places enough members in one search, or none.
  Result<FitAnswer> run_group(const Asked& asked) {
    FitAnswer answer;
    answer.what = asked.what;
    answer.copies = asked.copies;
    const std::string together = counted(asked.needed, "member") + " must fit at once";
    if (asked.copies < asked.needed) {
      answer.why = together + ", and the file has " + counted(asked.copies, "member") + " of the group";
      return answer;
    }
    std::deque<Made> made;
    GroupQuestion group{asked.what,
                        asked.needed,
                        {},
                        asked.topology,
                        asked.group != nullptr ? asked.group->annotations : api::StringMap()};
    std::string refused_by_quota;
    for (uint32_t i = 0; i < asked.copies; ++i) {
      auto one = make(asked, i);
      if (!one) return fail(one.error());
      if (const auto refusal = quotas_.refusal(one->charged.ns, one->charged.charge)) {
        refused_by_quota = words_for(*refusal, "pod " + one->pod.metadata.name);
        continue;  // its claims are not made, so it cannot be one of those that start
      }
      count(one->charged);
      made.push_back(std::move(*one));
      group.members.push_back({&made.back().pod, made.back().claims, asked.of_copy(i)->text()});
    }
    if (made.size() < asked.needed) {
      for (const Made& one : made) uncount(one.charged);
      answer.why = together + ": " + refused_by_quota;
      answer.cause = kQuotaRefuses;
      return answer;
    }
    auto placed = place_group(state_, group);
    if (!placed) {
      for (const Made& one : made) uncount(one.charged);
      answer.fit = Fit::kNever;
      answer.why = placed.error().message();
      return answer;
    }
    answer.fit = placed->outcome == Outcome::kFeasible      ? Fit::kNow
                 : placed->outcome == Outcome::kBudgetSpent ? Fit::kUnknown
                                                            : Fit::kNever;
    if (answer.fit != Fit::kNow) {
      // If a member does not even fit alone, its own reason names nodes and devices.
      const Made& guilty = made[placed->guilty.value_or(0)];
      const Placed alone = state_.place(&guilty.pod, guilty.claims);
      answer.why = together + ": " + placed->why;
      answer.cause = alone.cause;
      if (alone.outcome != Outcome::kFeasible)
        answer.why = together + ", and pod " + guilty.pod.metadata.name + " does not even alone: " + alone.why;
    }
    for (size_t i = 0; i < placed->members.size(); ++i) {
      Placed& one = placed->members[i];
      if (one.outcome != Outcome::kFeasible) {
        uncount(made[i].charged);
        continue;
      }
      keep(&made[i].pod, made[i].claims, one);
      if (answer.nodes.size() < 100) answer.nodes.push_back(one.node);
      if (++answer.placed == 1) answer.first = std::move(one.results);
    }
    if (answer.fit == Fit::kNow && answer.placed < asked.copies)
      answer.why = std::to_string(answer.placed) + " of " + counted(asked.copies, "member") + " fit, " + together +
                   (refused_by_quota.empty() ? "" : ": " + refused_by_quota);
    return answer;
  }

  // What a copy counts for quotas.
  struct Charged {
    std::string ns;
    QuotaCharge charge;
    std::set<std::string> uids;  // of claims of the file, which count once however many copies share them
  };
  struct Made {
    api::Pod pod;  // of a workload
    std::vector<Claim> claims;
    Charged charged{};
  };

  // Claims that are in the cluster count already.
  Charged charged_for(const api::Pod* pod, const std::vector<Claim>& claims) const {
    Charged charged;
    for (const Claim& claim : claims) {
      charged.ns = claim->metadata.ns;
      const std::string& uid = claim->metadata.uid;
      if (!uid.starts_with(kOwnUid) ||
          (uid.starts_with(kOfFile) && sources_.objects.claims.contains(claim->metadata.key())))
        continue;
      if (!counted_.contains(uid) && charged.uids.insert(uid).second)
        add_to(charged.charge, charge_of(sources_.objects, *claim));
    }
    const std::optional<ByClass> asked = pod == nullptr ? std::nullopt : asked_by_class(sources_.objects, *pod);
    if (!asked || asked->others) return charged;  // device plugins may serve it
    charged.ns = pod->metadata.ns;
    add_to(charged.charge, charge_of(sources_.objects, *asked->claim));
    return charged;
  }
  void count(const Charged& charged) {
    quotas_.add(charged.ns, charged.charge);
    counted_.insert(charged.uids.begin(), charged.uids.end());
  }
  void uncount(const Charged& charged) {
    quotas_.take_back(charged.ns, charged.charge);
    for (const std::string& uid : charged.uids) counted_.erase(uid);
  }
  static std::string words_for(const QuotaRefusal& refusal, const std::string& who) {
    return text_of(refusal, who) + "; " + remedy_of(refusal);
  }

  // A pod that was read from a cluster has what the manager and the scheduler wrote into it; its copies do not.
  api::Pod as_created(const Workload& workload) const {
    if (!workload.pod.metadata.uid.empty())
      return successor_of(workload.pod, claims_used_by(sources_.objects, workload.pod), nullptr);
    api::Pod pod = workload.pod;
    pod.node_name.clear();
    set_priority(sources_.objects, pod);
    return pod;
  }

  // A copy with its own names and uids.
  Result<Made> make(const Asked& asked, uint32_t copy) {
    const Workload* workload = asked.of_copy(copy);
    const std::string suffix = std::to_string(++copies_);
    Made made;
    if (workload == nullptr) {
      auto claim = std::make_shared<api::ResourceClaim>(*asked.claim);
      claim->metadata.uid = "fits-claim-" + suffix;
      made.claims.push_back(std::move(claim));
      made.charged = charged_for(nullptr, made.claims);
      return made;
    }
    made.pod = as_created(*workload);
    made.pod.metadata.uid = "fits-pod-" + suffix;
    made.pod.metadata.name += "-" + suffix;
    if (sources_.without_volumes.contains(workload))
      std::erase_if(made.pod.volumes, [](const auto& one) { return one.ephemeral || !one.claim_name.empty(); });
    auto found = claims_for(made.pod, suffix);
    if (!found) return fail(found.error());
    made.claims = std::move(*found);
    made.charged = charged_for(&made.pod, made.claims);
    return made;
  }

  // Places a copy and keeps it.
  Result<Placed> one_more(const Asked& asked, uint32_t copy) {
    auto made = make(asked, copy);
    if (!made) return fail(made.error());
    const api::Pod* pod = asked.of_copy(copy) != nullptr ? &made->pod : nullptr;
    if (const auto refusal = quotas_.refusal(made->charged.ns, made->charged.charge)) {
      Placed refused;
      refused.why = words_for(*refusal, pod != nullptr ? "the pod" : "the claim");
      refused.cause = kQuotaRefuses;
      return refused;
    }
    // Beside the PodGroup of another file it is a pod of no group.
    Placed placed = pod == nullptr ? state_.place(pod, made->claims)
                                   : place_member(state_, {"pod " + pod->metadata.key(), 1, {{pod, made->claims, ""}}});
    if (placed.outcome != Outcome::kFeasible) return placed;
    keep(pod, made->claims, placed);
    count(undo_.back().charged = std::move(made->charged));
    return placed;
  }

  void keep(const api::Pod* pod, const std::vector<Claim>& claims, const Placed& placed) {
    state_.take(pod, claims, placed);
    undo_.push_back({pod != nullptr ? pod->metadata.uid : "", {}, claims, {}});
    keep_allocations(claims, placed, undo_.back());
  }

  struct Copy {
    std::string pod_uid;
    std::map<std::string, Claim> replaced;  // entries of claims_ before the change
    std::vector<Claim> claims;
    Charged charged;
  };

  // A claim that several copies share is allocated by the first of them.
  void keep_allocations(const std::vector<Claim>& claims, const Placed& placed, Copy& copy) {
    size_t next = 0;
    for (const Claim& claim : claims) {
      if (claim->status.allocation || next >= placed.results.size()) continue;
      const api::AllocationResult& result = placed.results[next++];
      const auto shared = claims_.find(claim->metadata.key());
      if (shared == claims_.end() || shared->second->metadata.uid != claim->metadata.uid) continue;
      auto taken = std::make_shared<api::ResourceClaim>(*claim);
      taken->status.allocation = result;
      copy.replaced[shared->first] = shared->second;
      shared->second = std::move(taken);
    }
  }

  void take_back(const Copy& copy) {
    state_.release(copy.pod_uid, copy.claims);
    uncount(copy.charged);
    for (const auto& [key, claim] : copy.replaced) claims_[key] = claim;
  }

  void add_more(const Asked& asked, FitAnswer& answer) {
    const size_t before = undo_.size();
    while (answer.more < kMostMore) {
      const auto placed = one_more(asked, answer.placed + answer.more);
      if (!placed || placed->outcome != Outcome::kFeasible) break;
      ++answer.more;
    }
    answer.more_counted_out = answer.more < kMostMore;
    for (; undo_.size() > before; undo_.pop_back()) take_back(undo_.back());
  }

  Result<std::vector<Claim>> claims_for(const api::Pod& pod, const std::string& suffix) {
    std::vector<Claim> claims;
    for (const api::PodResourceClaim& entry : pod.resource_claims) {
      const std::string prefix = pod.metadata.ns + "/";
      if (entry.resource_claim_template_name) {
        auto from = template_named(prefix + *entry.resource_claim_template_name, entry.name);
        if (!from) return fail(from.error());
        const std::string name = pod.metadata.name + "-" + entry.name;
        claims.push_back(claim_from_template(**from, pod.metadata.ns, name, "fits-claim-" + suffix + "-" + entry.name));
      } else if (entry.resource_claim_name) {
        auto claim = claim_named(prefix + *entry.resource_claim_name, entry.name);
        if (!claim) return fail(claim.error());
        claims.push_back(std::move(*claim));
      } else {
        return fail(
            Code::kInvalidArgument,
            "claim " + quote(entry.name) + " of the pod names neither a ResourceClaim nor a ResourceClaimTemplate");
      }
    }
    return claims;
  }

  Result<std::shared_ptr<const api::ResourceClaimTemplate>> template_named(const std::string& key,
                                                                           const std::string& entry) {
    if (const auto own = sources_.templates.find(key); own != sources_.templates.end()) return own->second;
    const auto known = sources_.objects.templates.find(key);
    if (known != sources_.objects.templates.end()) return known->second;
    return fail(Code::kNotFound, "ResourceClaimTemplate " + key + " (used by pod claim " + quote(entry) +
                                     ") is neither in the file nor in the cluster");
  }

  Result<Claim> claim_named(const std::string& key, const std::string& entry) {
    if (const auto own = claims_.find(key); own != claims_.end()) return own->second;
    const auto known = sources_.objects.claims.find(key);
    if (known == sources_.objects.claims.end())
      return fail(Code::kNotFound, "ResourceClaim " + key + " (used by pod claim " + quote(entry) +
                                       ") is neither in the file nor in the cluster");
    return claims_[key] = state_.options.empty ? unallocated(known->second) : known->second;
  }

  const Sources& sources_;
  std::map<std::string, Claim> claims_;
  QuotaBook quotas_;
  std::set<std::string> counted_;  // uids of claims that quotas_ has
  State state_;
  std::vector<Copy> undo_;
  uint64_t copies_ = 0;
};

// Claims and templates of the file that a workload of it names.
std::set<std::string> named_by_workloads(const Manifest& manifest) {
  std::set<std::string> named;
  for (const Workload& workload : manifest.workloads)
    for (const api::PodResourceClaim& entry : workload.pod.resource_claims) {
      if (entry.resource_claim_name)
        named.insert("claim " + workload.pod.metadata.ns + "/" + *entry.resource_claim_name);
      if (entry.resource_claim_template_name)
        named.insert("template " + workload.pod.metadata.ns + "/" + *entry.resource_claim_template_name);
    }
  return named;
}

// The file's group to which the workload's pods belong.
const PodGroup* group_of(const Workload& workload, const Manifest& manifest) {
  for (const PodGroup& group : manifest.groups)
    if (!workload.group.empty() && group.name == workload.group && group.ns == workload.pod.metadata.ns) return &group;
  return nullptr;
}

Asked question_of(const PodGroup& group, const Manifest& manifest) {
  Asked asked{"podgroup/" + group.name, nullptr, nullptr, 0, {}, std::max(group.min_count, 1u), group.topology};
  asked.group = &group;
  for (const Workload& workload : manifest.workloads)
    if (group_of(workload, manifest) == &group)
      for (uint32_t i = 0; i < workload.replicas && asked.members.size() < kMaxCopies; ++i)
        asked.members.push_back(&workload);
  asked.copies = static_cast<uint32_t>(asked.members.size());
  return asked;
}

// How many pods of a Job must be placed together; 1: each alone.
uint32_t together_of(const Workload& workload) {
  const auto text = workload.pod.metadata.annotations.find(std::string(protocol::kGroupAnnotation));
  uint32_t count = 0;
  if (workload.kind != "Job" || text == workload.pod.metadata.annotations.end()) return 1;
  const char* end = text->second.data() + text->second.size();
  const auto read = std::from_chars(text->second.data(), end, count);
  return read.ec == std::errc() && read.ptr == end ? count : 1;
}

std::vector<Asked> questions_of(const Manifest& manifest, uint32_t copies) {
  const std::set<std::string> named = named_by_workloads(manifest);
  std::vector<Asked> asked;
  for (const auto& claim : manifest.claims)
    if (!named.contains("claim " + claim->metadata.key()))
      asked.push_back(
          {"resourceclaim/" + claim->metadata.name, nullptr, unallocated(claim), std::max(copies, 1u), {}, 0});
  for (const auto& one : manifest.templates)
    if (!named.contains("template " + one->metadata.key()))
      asked.push_back({"resourceclaimtemplate/" + one->metadata.name,
                       nullptr,
                       claim_from_template(*one, one->metadata.ns, one->metadata.name, ""),
                       std::max(copies, 1u),
                       {},
                       0});
  for (const PodGroup& group : manifest.groups) asked.push_back(question_of(group, manifest));
  for (const Workload& workload : manifest.workloads) {
    if (group_of(workload, manifest)) continue;
    const uint32_t together = together_of(workload);
    const uint32_t all = copies > 0 && together <= 1 ? copies : std::min(workload.replicas, kMaxCopies);
    asked.push_back({workload.text(), &workload, nullptr, all, {}, together <= 1 ? 0 : together});
    if (together > 1) asked.back().topology = protocol::topology_wish(workload.pod.metadata.annotations);
  }
  return asked;
}

FitAnswer broken_answer(const Asked& asked, const Error& error) {
  FitAnswer answer;
  answer.what = asked.what;
  answer.copies = asked.copies;
  answer.fit = Fit::kBroken;
  answer.why = error.message();
  answer.cause = kReferenceMissing;
  return answer;
}

std::string devices_text(const std::vector<api::AllocationResult>& results) {
  std::string text;
  for (const api::AllocationResult& allocation : results)
    for (const auto& one : allocation.results) text += (text.empty() ? "" : ", ") + one.device;
  return text.empty() ? "-" : text;
}

}  // namespace

std::string_view fit_name(Fit fit) {
  switch (fit) {
    case Fit::kNow:
      return "now";
    case Fit::kWhenEmpty:
      return "when empty";
    case Fit::kAlone:
      return "alone";
    case Fit::kNever:
      return "never";
    case Fit::kBroken:
      return "broken";
    case Fit::kUnknown:
      break;
  }
  return "unknown";
}

Result<std::vector<FitAnswer>> fits(const Objects& objects, const Manifest& manifest, const FitsOptions& options) {
  Objects together = objects;  // pointers only
  for (const auto& device_class : manifest.classes) together.classes[device_class->metadata.name] = device_class;
  add_volume_claims(together, manifest);
  Sources sources{together, {}, {}, {}};
  for (const Workload& workload : manifest.workloads)
    if (!why_volumes_are_not_judged(objects, manifest, workload).empty()) sources.without_volumes.insert(&workload);
  for (const auto& claim : manifest.claims) {
    auto own = std::make_shared<api::ResourceClaim>(*unallocated(claim));
    own->metadata.uid = std::string(kOfFile) + own->metadata.key();
    sources.claims[own->metadata.key()] = std::move(own);
  }
  for (const auto& one : manifest.templates) sources.templates[one->metadata.key()] = one;
  StateOptions empty = options.state;
  empty.empty = true;
  Fitting now(sources, options.on_empty ? empty : options.state);
  std::unique_ptr<Fitting> on_empty;  // for each question alone: created when first needed
  std::vector<FitAnswer> answers;
  for (const Asked& asked : questions_of(manifest, options.copies)) {
    auto answer = now.run(asked, options.count_more);
    if (!answer) {
      answers.push_back(broken_answer(asked, answer.error()));
      continue;
    }
    if (options.on_empty && answer->fit == Fit::kNow) answer->fit = Fit::kWhenEmpty;
    const bool was_alone = options.on_empty && answers.empty();
    if (answer->fit == Fit::kNever && !was_alone) {
      on_empty = std::make_unique<Fitting>(sources, empty);
      const auto then = on_empty->run(asked, false);
      if (then && then->fit == Fit::kNow) answer->fit = options.on_empty ? Fit::kAlone : Fit::kWhenEmpty;
      // What comes before it in the file is not why it never fits.
      if (then && then->fit == Fit::kNever && options.on_empty) {
        answer->why = then->why;
        answer->cause = then->cause;
        answer->placed = then->placed;
      }
      if (then && then->fit == Fit::kUnknown) answer->fit = Fit::kUnknown;
      if (answer->fit == Fit::kAlone) answer->why = "not beside what comes before it in the file: " + answer->why;
    }
    // What is not visible may be what it needs.
    if (std::string unseen = why_undecidable(objects); !unseen.empty() && answer->fit != Fit::kNow) {
      answer->fit = Fit::kUnknown;
      answer->why = std::move(unseen);
    }
    answers.push_back(std::move(*answer));
  }
  return answers;
}

Answer to_answer(const std::vector<FitAnswer>& found, const Manifest& manifest, const Objects& objects, bool on_empty) {
  Answer answer{"DRAFits"};
  Table table{"",
              "fits",
              {{"WHAT", "what"},
               {"FITS", "fits"},
               {"COPIES", "copies"},
               {"PLACED", "placed"},
               {"MORE", "more"},
               {"NODE", "node"},
               {"DEVICES", "devices"},
               {"CAUSE", "cause", true},
               {"WHY NOT", "whyNot", true}},
              {}};
  const Fit good = on_empty ? Fit::kWhenEmpty : Fit::kNow;
  for (const FitAnswer& one : found) {
    const Tone tone = one.fit == good                                        ? Tone::kGood
                      : one.fit == Fit::kWhenEmpty || one.fit == Fit::kAlone ? Tone::kWarn
                                                                             : Tone::kBad;
    std::set<std::string> nodes(one.nodes.begin(), one.nodes.end());
    const std::string node = nodes.empty() ? "-" : nodes.size() == 1 ? *nodes.begin() : counted(nodes.size(), "node");
    table.rows.push_back({one.what,
                          {one.what, Cell(std::string(fit_name(one.fit)), tone), one.copies, one.placed,
                           one.more_counted_out ? Cell(one.more) : Cell(">=" + std::to_string(one.more)), node,
                           devices_text(one.first), one.cause, one.why}});
    if (one.fit == Fit::kBroken)
      answer.status = Status::kUsage;
    else if (one.fit == Fit::kUnknown && answer.status != Status::kUsage)
      answer.status = Status::kUnknown;
    else if (one.fit != good && answer.status == Status::kYes)
      answer.status = Status::kNo;
    if (!one.why.empty())
      answer.say_after({one.cause.empty() ? "DoesNotFit" : one.cause,
                        one.what + (one.placed > 0 ? ", copy " + std::to_string(one.placed + 1) : "") + ": " + one.why,
                        {},
                        "",
                        {{"copies", one.copies}, {"placed", one.placed}},
                        {{"asked", {one.what}}}});
  }
  for (const auto& [number, error] : manifest.broken) {
    answer.notes.push_back("not checked: " + error.message());
    answer.status = Status::kUsage;
  }
  if (found.empty()) {
    answer.say("NothingToPlace", "the file has no pod, workload, claim or claim template");
    answer.status = Status::kUsage;
  }
  answer.tables.push_back(std::move(table));
  for (const PodGroup& group : manifest.groups)
    if (group.has_claims)
      answer.notes.push_back("not checked: spec.resourceClaims of podgroup/" + group.name +
                             ", the claims of the group itself");
  for (const Workload& workload : manifest.workloads) {
    if (const std::string why = why_volumes_are_not_judged(objects, manifest, workload);
        workload.has_volumes && !why.empty())
      answer.notes.push_back("not checked: where the volumes of " + workload.text() + " can be, as " + why +
                             "; its nodes are judged without them");
    if (!workload.group.empty() && !group_of(workload, manifest))
      answer.notes.push_back("pod group " + workload.group + " of " + workload.text() +
                             " is not in the file: its pods are judged one by one");
  }
  for (const std::string& skipped : manifest.skipped) answer.notes.push_back("not checked: " + skipped);
  std::set<std::string> namespaces;
  for (const Workload& workload : manifest.workloads) namespaces.insert(workload.pod.metadata.ns);
  for (const auto& claim : manifest.claims) namespaces.insert(claim->metadata.ns);
  for (const auto& one : manifest.templates) namespaces.insert(one->metadata.ns);
  for (const std::string& ns : namespaces)
    if (std::string why = why_quotas_unseen(objects, ns); !why.empty()) answer.notes.push_back(std::move(why));
  if (!on_empty && note_promises(answer, objects))
    for (const Workload& workload : manifest.workloads) {
      api::Pod pod = workload.pod;
      if (std::string unknown = set_priority(objects, pod).unknown; !unknown.empty())
        answer.notes.push_back(std::move(unknown));
    }
  for (std::string& note : hidden_notes(objects, "; the answer may be wrong")) answer.notes.push_back(std::move(note));
  if (objects.hides_what_decides() && answer.status != Status::kUsage) answer.status = Status::kUnknown;
  return answer;
}

}  // namespace dra::inspect
