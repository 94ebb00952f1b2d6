#include "pkg/allocator/plan/plan.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "pkg/api/claim_bounds.h"
#include "pkg/base/closest.h"
#include "pkg/base/strings.h"

namespace dra::allocator {

namespace {

// In steps (meter.h).
constexpr uint64_t kAlternativeSteps = 2;
constexpr size_t kTextPerStep = 1024;     // bytes of selectors looked up
constexpr size_t kMembersPerStep = 8;     // alternatives checked for membership in a constraint
constexpr size_t kBytesOfEntry = 64;      // of a ValueList, kept twice
constexpr size_t kProgramTextBytes = 16;  // size of the shortest program, in bytes of text (selectors.cc)

}  // namespace

class Planner {
 public:
  Planner(Plan& plan, inventory::DeviceIndex& device_index, Selectors& selectors, Filters& filters, Meter& meter)
      : plan_(plan),
        at_(plan.progress_),
        device_index_(device_index),
        selectors_(selectors),
        filters_(filters),
        meter_(meter) {}

  void run() {
    if (plan_.claims.size() > kMaxPlanClaims)
      return refuse(false, "has " + std::to_string(plan_.claims.size()) + " claims to allocate together; at most " +
                               std::to_string(kMaxPlanClaims) + " are supported");
    for (; at_.claim < plan_.claims.size(); ++at_.claim) {
      current_claim_ = at_.claim;
      if (refused_for_unknown(plan_.claims[at_.claim]->spec.unknown, claim_text(at_.claim))) return;
      if (!add_requests(plan_.claims[at_.claim]->spec.requests) || too_many_devices()) return;
      add_constraints(at_.claim, at_.first_request);
      if (plan_.error) return;
      at_.first_request = plan_.requests.size();
      at_.request = 0;
    }
    for (const Preference& tie : plan_.ties) add_tie(tie);
    for (const ValueList& list : plan_.lists) add_list(list);
    if ((!plan_.pair_rules.empty() || !plan_.lists.empty()) && !add_rules()) return;
    if (plan_.constraints.size() > 1) add_implied_pairs(plan_);
    write_shape();
    at_ = {};
  }

 private:
  std::string claim_text(uint32_t c) const { return "claim " + quote(plan_.claims[c]->metadata.key()); }

  void refuse(bool only_when_strict, std::string message, Cause cause = Cause::kInvalidRequest) {
    if (plan_.error) return;
    plan_.error_cause = cause;
    plan_.error = Error(Code::kInvalidArgument, std::move(message));
    plan_.error_only_when_strict = only_when_strict;
    plan_.guilty_claim = current_claim_;
  }

  // A field that this build does not know may forbid what would be allocated.
  bool refused_for_unknown(const api::Rare<api::UnknownFields>& unknown, const std::string& what) {
    const api::UnknownField* field = api::refusing_field(unknown, device_index_.features().ignored_fields);
    if (field != nullptr) refuse(false, what + ": " + api::why_refused(*field));
    return field != nullptr;
  }

  void refuse_name(std::string message) {
    if (plan_.ambiguous) return;
    plan_.ambiguous = Error(Code::kInvalidArgument, std::move(message));
    if (!plan_.error) plan_.guilty_claim = current_claim_;
  }

  // False: the slice ended, or the claims are refused.
  bool add_requests(const std::vector<api::DeviceRequest>& requests) {
    for (; at_.request < requests.size(); ++at_.request) {
      if (made_any_ && meter_.stopped()) plan_.unfinished = true;
      if (!plan_.unfinished) add_request(at_.claim, requests[at_.request]);
      if (plan_.error) plan_.unfinished = false;
      if (plan_.error || plan_.unfinished) return false;
      made_any_ = true;
    }
    return true;
  }

  bool too_many_devices() {
    uint64_t least = 0;
    for (size_t r = at_.first_request; r < plan_.requests.size(); ++r) least += least_devices(plan_.requests[r]);
    if (least <= api::kMaxAllocationResults) return false;
    refuse(true,
           claim_text(at_.claim) + " asks for at least " + std::to_string(least) +
               " devices; the limit of a claim is " + std::to_string(api::kMaxAllocationResults),
           Cause::kLimit);
    return true;
  }

  // Concerns all claims together: no single one is at fault.
  bool too_large(size_t more_alternatives) {
    const size_t alternatives = at_.alternatives + more_alternatives;
    std::string what;
    if (alternatives > kMaxPlanAlternatives)
      what = std::to_string(kMaxPlanAlternatives) + " requests and subrequests";
    else if (plan_.bytes > kMaxPlanBytes)
      what = std::to_string(kMaxPlanBytes >> 20) + " MiB of requests";
    else if (at_.selector_bytes > kMaxPlanSelectorBytes || dropped_selectors())
      what = std::to_string(kMaxPlanSelectorBytes >> 10) + " KiB of selectors";
    if (what.empty()) return false;
    if (plan_.claims.size() > 1) current_claim_.reset();
    refuse(false, "has more than " + what + " in the claims to allocate together; use fewer or shorter ones");
    return true;
  }

  // The claim's selectors were not kept (api/claim_bounds.h).
  bool dropped_selectors() const {
    static_assert(api::kMaxClaimSelectorBytes >= kMaxPlanSelectorBytes);
    return plan_.claims[at_.claim]->spec.selector_bytes_dropped > 0;
  }

  static uint64_t least_devices(const PlanRequest& request) {
    uint64_t least = UINT64_MAX;
    for (const PlanAlternative& alternative : request.alternatives)
      least = std::min<uint64_t>(least, alternative.all ? 1 : alternative.count);
    return request.alternatives.empty() ? 0 : least;
  }

  void add_request(uint32_t c, const api::DeviceRequest& request) {
    if (too_large(request.exactly ? 1 : request.first_available.size())) return;
    const size_t bytes_before = plan_.bytes;
    plan_.bytes += 512 + request.name.size();
    PlanRequest added;
    added.claim = c;
    added.spec = &request;
    std::string what = claim_text(c) + ", request " + quote(request.name);
    for (size_t r = plan_.requests.size(); r > 0 && plan_.requests[r - 1].claim == c; --r)
      if (plan_.requests[r - 1].spec->name == request.name) refuse_name(what + ": the name is used twice in the claim");
    if (request.exactly.has_value() == !request.first_available.empty()) {
      refuse(false, what + ": exactly one of exactly and firstAvailable must be set");
      return;
    }
    if (request.exactly) {
      add_alternative(added, *request.exactly, request.name, what);
    } else {
      added.prioritized = true;
      plan_.any_prioritized = true;
      if (!device_index_.features().prioritized_list)
        refuse(false, what + ": has subrequests, but the DRAPrioritizedList feature is disabled");
      std::vector<std::string> names;
      for (const api::DeviceSubRequest& sub : request.first_available) {
        if (std::find(names.begin(), names.end(), sub.name) != names.end())
          refuse_name(what + ", subrequest " + quote(sub.name) + ": the name is used twice in the request");
        names.push_back(sub.name);
        add_alternative(added, sub, request.name + "/" + sub.name, what + ", subrequest " + quote(sub.name));
      }
    }
    if (plan_.unfinished) {  // made anew in the next slice
      plan_.bytes = bytes_before;
      return;
    }
    at_.alternatives += added.alternatives.size();
    plan_.requests.push_back(std::move(added));
  }

  void add_alternative(PlanRequest& request, const api::DeviceSubRequest& spec, std::string name,
                       const std::string& what) {
    meter_.charge(kAlternativeSteps);
    PlanAlternative added;
    added.name = std::move(name);
    added.spec = &spec;
    added.admin = spec.admin_access;
    plan_.any_admin = plan_.any_admin || added.admin;
    if (added.admin && !device_index_.features().admin_access)
      refuse(false, what + ": asks for admin access, but the DRAAdminAccess feature is disabled");
    if (!spec.capacity_requests.empty() && !device_index_.features().consumable)
      refuse(false, what + ": has capacity requests, but the DRAConsumableCapacity feature is disabled");
    if (spec.allocation_mode == "All") {
      added.all = true;
      plan_.any_all = true;
    } else if (!spec.allocation_mode.empty() && spec.allocation_mode != "ExactCount") {
      refuse(false, what + ": allocationMode " + quote(spec.allocation_mode) + " is not known; use ExactCount or All");
    } else if (spec.count < 0 || spec.count > 1'000'000'000) {
      refuse(false, what + ": count " + std::to_string(spec.count) + " is out of range");
    } else {
      added.count = spec.count == 0 ? 1 : static_cast<uint32_t>(spec.count);
    }
    Filter filter;
    if (spec.device_class_name.empty()) {
      refuse(false, what + ": deviceClassName is missing; name a DeviceClass");
    } else {
      add_class(added, filter, what);
    }
    plan_.bytes += 512;
    for (const api::DeviceToleration& t : spec.tolerations)
      plan_.bytes += sizeof t + t.key.size() + t.value.size() + t.op.size() + t.effect.size();
    for (size_t i = 0; i < spec.selectors.size() && !plan_.unfinished; ++i)
      filter.request_selectors.push_back(compile(spec.selectors[i], what + ": selector #" + std::to_string(i)));
    if (spec.derived_attributes) add_derived(added, *spec.derived_attributes, what);
    if (plan_.unfinished) return;
    filter.tolerations = spec.tolerations;
    filter.shares_silicon = added.shares_silicon;
    filter.counts_takes = plan_.counts_takes;
    if (added.device_class != nullptr && device_index_.features().consumable) {
      filter.ask = device_index_.shares().ask(*plan_.claims[request.claim], added.name, *added.device_class);
      if (filter.ask) plan_.bytes += 2 * filter.ask->key.size();
    }
    for (const auto& [capacity, text] : spec.capacity_requests) {
      auto quantity = api::Quantity::parse(text);
      if (!quantity) {
        refuse(false, what + ": capacity request " + quote(capacity) + ": " + quote(text) + " is not a quantity");
        return;
      }
      plan_.bytes += 2 * capacity.size() + text.size() + sizeof *quantity;
      filter.capacity[capacity] = *quantity;
    }
    added.filter = filters_.intern(std::move(filter));
    const auto [slot, fresh] = at_.slot_of.try_emplace(added.filter, static_cast<uint32_t>(plan_.filters.size()));
    added.slot = slot->second;
    if (fresh) plan_.filters.push_back(added.filter);
    request.alternatives.push_back(std::move(added));
  }

  void add_derived(PlanAlternative& added, const std::vector<api::DerivedAttribute>& list, const std::string& what) {
    if (!device_index_.features().derived_attributes)
      refuse(false, what +
                        ": has derivedAttributes, but the DRADerivedAttributes feature is disabled; if it is enabled "
                        "in the cluster, enable it by --feature-gates=DRADerivedAttributes=true");
    plan_.bytes += list.size() * sizeof(PlanDerived);
    for (size_t i = 0; i < list.size() && !plan_.unfinished && !plan_.error; ++i) {
      const std::string where = what + ": derived attribute #" + std::to_string(i) + " " + quote(list[i].name);
      added.derived.push_back({&list[i].name, compile(list[i].expression, where, Expression::kDerived)});
    }
  }

  // The class that a misspelt name means, or all if they are few.
  std::string classes_instead(const std::string& name) const {
    constexpr size_t kFew = 5;
    std::vector<std::string> names;
    for (const auto& [known, entry] : device_index_.classes()) names.push_back(known);
    if (const auto near = closest(name, names)) return " (did you mean " + quote(*near) + "?)";
    return names.empty() || names.size() > kFew ? "" : " (there are " + join(names, ", ") + ")";
  }

  void add_class(PlanAlternative& added, Filter& filter, const std::string& what) {
    const std::string& name = added.spec->device_class_name;
    const inventory::ClassEntry* entry = device_index_.find_class(name);
    if (entry == nullptr) {
      refuse(false, what + ": device class " + quote(name) + " does not exist" + classes_instead(name),
             Cause::kClassMissing);
      return;
    }
    plan_.classes.push_back(entry->object);
    added.device_class = entry->object.get();
    added.shares_silicon = inventory::shares_silicon(*entry->object);
    refused_for_unknown(entry->object->unknown, what + ": device class " + quote(name));
    for (size_t i = 0; i < entry->object->selectors.size(); ++i)
      filter.class_selectors.push_back(compile(
          entry->object->selectors[i], what + ": device class " + quote(name) + ": selector #" + std::to_string(i)));
  }

  enum class Expression : uint8_t { kSelector, kDerived };

  SelectorId compile(const std::string& expression, const std::string& what, Expression kind = Expression::kSelector) {
    if (expression.empty()) refuse(false, what + ": has no cel expression (unsupported selector type?)");
    plan_.bytes += expression.size() + sizeof expression;
    meter_.charge(1 + expression.size() / kTextPerStep);
    if (plan_.unfinished) return 0;
    // Compile at least one per slice, or a request with many would never be finished.
    const bool derived = kind == Expression::kDerived;
    const bool known = derived ? selectors_.knows_derived(expression) : selectors_.knows(expression);
    if (meter_.stopped() && made_any_ && !known) {
      plan_.unfinished = true;
      return 0;
    }
    made_any_ = made_any_ || !known;
    SelectorId id = derived ? selectors_.intern_derived(expression) : selectors_.intern(expression);
    if (at_.selectors.insert(id).second) at_.selector_bytes += expression.size() + kProgramTextBytes;
    if (!selectors_.compile_error(id).empty()) refuse(false, what + ": " + selectors_.compile_error(id));
    return id;
  }

  void add_constraints(uint32_t c, size_t first_request) {
    const std::vector<api::DeviceConstraint>& list = plan_.claims[c]->spec.constraints;
    for (size_t i = 0; i < list.size(); ++i) {
      const api::DeviceConstraint& spec = list[i];
      bool distinct = !spec.match_attribute && spec.distinct_attribute && device_index_.features().consumable;
      if (!spec.match_attribute && !distinct) {
        refuse(false, claim_text(c) + ", constraint #" + std::to_string(i) +
                          ": neither matchAttribute nor a supported distinctAttribute is set");
        return;
      }
      PlanConstraint added;
      added.claim = c;
      added.distinct = distinct;
      added.attribute = distinct ? *spec.distinct_attribute : *spec.match_attribute;
      auto number = static_cast<uint32_t>(plan_.constraints.size());
      const std::unordered_set<std::string_view> named(spec.requests.begin(), spec.requests.end());
      for (size_t r = first_request; r < plan_.requests.size(); ++r) {
        bool any = false;
        for (PlanAlternative& alternative : plan_.requests[r].alternatives) {
          const bool in =
              named.empty() || named.contains(plan_.requests[r].spec->name) || named.contains(alternative.name);
          if (in) alternative.constraints.push_back(number);
          if (in && !alternative.derived.empty()) read_derived(added, number, alternative);
          any = any || in;
        }
        meter_.charge(1 + plan_.requests[r].alternatives.size() / kMembersPerStep);
        if (any) added.requests.push_back(static_cast<uint32_t>(r));
      }
      add_column(added);
      plan_.constraints.push_back(std::move(added));
    }
  }

  // If the alternative says what the attribute is of its devices.
  void read_derived(PlanConstraint& constraint, uint32_t number, PlanAlternative& alternative) {
    const auto own = std::find_if(alternative.derived.begin(), alternative.derived.end(),
                                  [&](const PlanDerived& one) { return *one.name == constraint.attribute; });
    if (own == alternative.derived.end()) return;
    plan_.any_derived = true;
    const auto known = std::find(constraint.derived.begin(), constraint.derived.end(), own->expression);
    const auto at = static_cast<uint32_t>(known - constraint.derived.begin());
    if (known == constraint.derived.end()) constraint.derived.push_back(own->expression);
    alternative.derived_columns.emplace_back(number, at + 1);
  }

  void add_column(PlanConstraint& constraint) {
    const bool tie = constraint.claim == kAllClaims && constraint.list == nullptr;
    constraint.column = column_of(constraint.attribute, tie ? Values::kTelling : Values::kAll);
  }

  uint32_t column_of(const std::string& attribute, Values which) {
    inventory::StrId key = device_index_.strings().intern(attribute);
    const auto [column, fresh] =
        at_.column_of.try_emplace(std::pair(key, which), static_cast<uint32_t>(plan_.columns.size()));
    fresh ? plan_.columns.push_back({key, which}) : device_index_.strings().release(key);
    return column->second;
  }

  // False: a rule can never be met.
  bool add_rules() {
    add_pairs(plan_, [this](const std::string& attribute) { return column_of(attribute, Values::kAll); });
    std::string never = why_never(plan_);
    if (!never.empty()) {
      current_claim_.reset();
      refuse(true, std::move(never), Cause::kLimit);
    }
    return !plan_.error;
  }

  void add_tie(const Preference& tie) {
    PlanConstraint added;
    added.claim = kAllClaims;
    added.attribute = tie.attribute;
    added.anchors = &tie.anchors;
    const auto number = static_cast<uint32_t>(plan_.constraints.size());
    for (uint32_t r = 0; r < plan_.requests.size(); ++r) {
      if (std::find(tie.claims.begin(), tie.claims.end(), plan_.requests[r].claim) == tie.claims.end()) continue;
      for (PlanAlternative& alternative : plan_.requests[r].alternatives) alternative.constraints.push_back(number);
      added.requests.push_back(r);
    }
    add_column(added);
    plan_.constraints.push_back(std::move(added));
  }

  void add_list(const ValueList& list) {
    PlanConstraint added;
    added.claim = kAllClaims;
    added.attribute = list.attribute;
    added.list = &list;
    const auto number = static_cast<uint32_t>(plan_.constraints.size());
    for (uint32_t r = 0; r < plan_.requests.size(); ++r) {
      PlanRequest& request = plan_.requests[r];
      const bool named = std::any_of(list.requests.begin(), list.requests.end(), [&](const auto& one) {
        return one.first == request.claim && one.second == request.spec->name;
      });
      if (!named) continue;
      for (PlanAlternative& alternative : request.alternatives) alternative.constraints.push_back(number);
      added.requests.push_back(r);
    }
    meter_.charge(1 + list.entries.size() / kMembersPerStep);
    plan_.bytes += sizeof list + (list.entries.size() + list.taken.size()) * kBytesOfEntry;
    add_column(added);
    plan_.constraints.push_back(std::move(added));
  }

  void write_list(const ValueList& list) {
    const auto add_text = [this](const std::string& text) {
      const auto size = static_cast<uint32_t>(text.size());
      plan_.shape.append(reinterpret_cast<const char*>(&size), sizeof size);
      plan_.shape += text;
    };
    add_text(std::string(list.any ? "any " : "list ") + std::to_string(list.least) + ' ' +
             std::to_string(list.entries.size()) + ' ' + std::to_string(list.taken.size()));
    for (const std::string& entry : list.entries) add_text(entry);
    for (const std::vector<std::string>& taken : list.taken) {
      add_text(std::to_string(taken.size()));
      for (const std::string& code : taken) add_text(code);
    }
  }

  void write_shape() {
    auto add = [this](uint64_t v) { plan_.shape.append(reinterpret_cast<const char*>(&v), sizeof v); };
    if (plan_.apart) plan_.shape += "apart ";
    if (plan_.counts_takes) plan_.shape += "counts takes ";
    for (const PlanRequest& request : plan_.requests) {
      add(uint64_t{request.claim} << 32 | request.alternatives.size());
      for (const PlanAlternative& alternative : request.alternatives) {
        add(uint64_t{alternative.filter} << 2 | alternative.all << 1 | alternative.admin);
        add(uint64_t{alternative.count} << 32 | alternative.constraints.size());
        for (uint32_t c : alternative.constraints) add(c);
        for (const auto& [c, column] : alternative.derived_columns) add(uint64_t{c} << 32 | column);
      }
    }
    for (const PlanConstraint& constraint : plan_.constraints) {
      add(constraint.attribute.size() << 2 | uint64_t{constraint.claim == kAllClaims} << 1 | constraint.distinct);
      plan_.shape += constraint.attribute;
      if (constraint.list != nullptr) write_list(*constraint.list);
      if (!constraint.derived.empty()) add(constraint.derived.size());
      for (const SelectorId id : constraint.derived) add(id);
      if (constraint.anchors == nullptr) continue;
      for (const Anchor& anchor : *constraint.anchors) {
        for (const std::string* part : {&anchor.driver, &anchor.pool, &anchor.device}) {
          add(part->size());
          plan_.shape += *part;
        }
      }
    }
    write_pair_shape(plan_, plan_.shape);
  }

  Plan& plan_;
  Plan::Progress& at_;
  inventory::DeviceIndex& device_index_;
  Selectors& selectors_;
  Filters& filters_;
  Meter& meter_;
  std::optional<uint32_t> current_claim_;
  bool made_any_ = false;  // in this slice
};

Plan::~Plan() {
  for (const PlanColumn& column : columns) device_index_.strings().release(column.key);
}

std::shared_ptr<Plan> begin_plan(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
                                 std::vector<Preference> ties, std::vector<PairRule> pairs,
                                 std::vector<ValueList> lists, bool apart, bool counts_takes,
                                 inventory::DeviceIndex& device_index) {
  auto plan = std::make_shared<Plan>(claims, std::move(ties), std::move(pairs), device_index);
  plan->lists = std::move(lists);
  plan->apart = apart;
  plan->counts_takes = counts_takes;
  plan->classes_version = device_index.classes_version();
  plan->unfinished = true;
  return plan;
}

void go_on(Plan& plan, inventory::DeviceIndex& device_index, Selectors& selectors, Filters& filters, Meter& meter) {
  plan.unfinished = false;
  Planner(plan, device_index, selectors, filters, meter).run();
}

}  // namespace dra::allocator
