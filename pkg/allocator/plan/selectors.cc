#include "pkg/allocator/plan/selectors.h"

#include <algorithm>

#include "pkg/inventory/value_code.h"

namespace dra::allocator {

using inventory::AttributeEntry;
using inventory::Pool;
using inventory::SliceTable;
using inventory::StrId;

namespace {

// In steps (meter.h). pkg/cel/cel.h gives the time of a unit of cost and of work.
constexpr uint64_t kEvaluationSteps = 4;
constexpr uint64_t kCostPerStep = 25;
constexpr uint64_t kWorkPerStep = 100;
constexpr uint64_t kCompileSteps = 20;
constexpr size_t kCompiledPerStep = 2;  // bytes of the expression
// The frees of one kept selector: its tree, its texts.
constexpr size_t kFreesOfSelector = 64;
// Beyond this many outcomes a map gets all its buckets at once: rehashing 100,000 outcomes takes 8 ms.
constexpr size_t kFewOutcomes = 4096;
// The estimated size of a compiled program: its tree grows with the expression.
constexpr size_t kProgramBytes = 1024;
constexpr size_t kProgramBytesPerByte = 64;

cel::Environment selector_environment(const inventory::Features& features, bool quantity_operators,
                                      bool derived = false) {
  cel::EnvironmentOptions options;
  options.derived_attributes = derived;
  options.release = features.selectors_of_137 ? cel::Release::k137 : cel::Release::k136;
  options.list_attributes = features.list_attributes;
  options.quantity_operators = quantity_operators;
  return cel::Environment(options);
}

}  // namespace

cel::DeviceInput device_input(const inventory::DeviceIndex& device_index, const Pool& pool, uint32_t device) {
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  cel::DeviceInputBuilder builder(pool.driver_text, (slice.flags[local] & inventory::kMultiple) != 0);
  for (const AttributeEntry* a = slice.attrs_begin(local); a != slice.attrs_end(local); ++a)
    builder.add(device_index.strings().text(a->key), inventory::decode_value(device_index.strings().text(a->value)));
  for (const inventory::CapacityEntry& entry : pool.shape(device).entries)
    builder.add_capacity(entry.name, entry.value);
  return builder.build();
}

Selectors::Selectors(inventory::DeviceIndex& device_index, bool quantity_operators, Meter& meter, DeferredFrees& frees)
    : device_index_(device_index),
      quantity_operators_(quantity_operators),
      environment_(selector_environment(device_index.features(), quantity_operators)),
      derived_environment_(selector_environment(device_index.features(), quantity_operators, true)),
      lists_(device_index.features().list_attributes),
      meter_(meter),
      deferred_frees_(frees) {}

Selectors::~Selectors() {
  forget();
}

void Selectors::clear() {
  forget();
  environment_ = selector_environment(device_index_.features(), quantity_operators_);
  derived_environment_ = selector_environment(device_index_.features(), quantity_operators_, true);
  lists_ = device_index_.features().list_attributes;
}

void Selectors::forget() {
  for (const auto& entry : entries_)
    for (StrId key : entry->keys) device_index_.strings().release(key);
  deferred_frees_.add(entries_, kFreesOfSelector);
  deferred_frees_.add(index_, 2);
  drop_outcomes();
  program_bytes_ = 0;
}

void Selectors::drop_outcomes() {
  deferred_frees_.add(recent_, 1);
  deferred_frees_.add(older_, 1);
  deferred_frees_.add(derived_, 2);
}

SelectorId Selectors::intern(const std::string& expression) {
  return intern_in(environment_, expression, expression);
}

SelectorId Selectors::intern_in(const cel::Environment& environment, const std::string& index_key,
                                const std::string& expression) {
  auto [it, fresh] = index_.try_emplace(index_key, static_cast<SelectorId>(entries_.size()));
  if (!fresh) return it->second;
  auto entry = std::make_unique<Entry>();
  entry->expression = expression;
  meter_.charge(kCompileSteps + expression.size() / kCompiledPerStep);
  program_bytes_ += kProgramBytes + expression.size() * kProgramBytesPerByte;
  if (expression.size() > cel::kMaxExpressionBytes) {
    entry->error = "is longer than " + std::to_string(cel::kMaxExpressionBytes) + " bytes";
  } else {
    cel::CompileResult result = cel::compile(expression, environment);
    if (result.ok()) {
      entry->program = result.program;
      const cel::Reads& reads = result.program->reads();
      entry->all_attributes = reads.all_attributes;
      entry->capacities = reads.all_capacities || !reads.capacities.empty();
      for (const auto& [domain, name] : reads.attributes)
        entry->keys.push_back(device_index_.strings().intern(domain + "/" + name));
    } else {
      entry->error = result.error->message;
      if (!result.error->hint.empty()) entry->error += "\nhint: " + result.error->hint;
    }
  }
  entries_.push_back(std::move(entry));
  return it->second;
}

inventory::Hash128 Selectors::make_key(SelectorId id, const Pool& pool, uint32_t device) const {
  const Entry& entry = *entries_[id];
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  const uint8_t flags = slice.flags[local];
  const bool spoiled = (flags & inventory::kSpoiled) != 0 || (!lists_ && (flags & inventory::kHasList) != 0);
  inventory::Hash128 key;
  key.add(uint64_t{id} << 32 | pool.driver);
  key.add((flags & inventory::kMultiple) | (spoiled ? 0x100u : 0u));
  if (spoiled) return key;  // every selector fails, whatever it reads
  if (entry.all_attributes) {
    for (const AttributeEntry* a = slice.attrs_begin(local); a != slice.attrs_end(local); ++a)
      key.add(uint64_t{a->key} << 32 | a->value);
  } else {
    for (StrId attribute : entry.keys) key.add(slice.attribute(local, attribute));
  }
  if (entry.capacities) key.add(slice.shapes[slice.shape_of[local]]->serial);
  return key;
}

const Truth* Selectors::find_outcome(const inventory::Hash128& key) {
  if (auto it = recent_.find(key); it != recent_.end()) return &it->second;
  auto it = older_.find(key);
  if (it == older_.end()) return nullptr;
  const Truth truth = it->second;
  keep_outcome(key, truth);
  return &recent_.find(key)->second;
}

void Selectors::keep_outcome(const inventory::Hash128& key, Truth truth) {
  if (recent_.size() >= kMaxOutcomes) {
    deferred_frees_.add(older_, 1);
    older_ = std::exchange(recent_, {});
  }
  if (recent_.size() == kFewOutcomes) recent_.reserve(kMaxOutcomes);
  recent_.emplace(key, truth);
}

void Selectors::mark(SelectorId id, const SliceTable& slice, inventory::Hash128& hash) const {
  const Entry& entry = *entries_[id];
  hash.add(id);
  auto add = [&hash](const inventory::ColumnMark& mark) {
    hash.add(mark.key);
    hash.add(mark.values);
  };
  if (entry.all_attributes) {
    for (const inventory::ColumnMark& mark : slice.marks) add(mark);
    return;
  }
  for (StrId key : entry.keys) {
    auto it = std::lower_bound(slice.marks.begin(), slice.marks.end(), key,
                               [](const inventory::ColumnMark& mark, StrId k) { return mark.key < k; });
    if (it != slice.marks.end() && it->key == key) add(*it);
  }
}

// Numbers in the keys may have been reused.
void Selectors::follow_reuse() {
  if (epoch_ == device_index_.strings().reuse_epoch()) return;
  drop_outcomes();
  epoch_ = device_index_.strings().reuse_epoch();
}

uint64_t Selectors::steps_of(const cel::EvalResult& result) {
  return kEvaluationSteps + result.cost / kCostPerStep + result.work / kWorkPerStep;
}

Truth Selectors::evaluate(SelectorId id, const Pool& pool, uint32_t device, Keep keep) {
  Entry& entry = *entries_[id];
  if (!entry.program) return Truth::kError;
  follow_reuse();
  const inventory::Hash128 key = make_key(id, pool, device);
  if (const Truth* known = find_outcome(key)) return *known;
  const cel::EvalResult result = entry.program->evaluate(device_input(device_index_, pool, device));
  const uint64_t steps = steps_of(result);
  entry.most_steps = std::max(entry.most_steps, steps);
  meter_.charge(steps);
  const Truth truth = !result.ok() ? Truth::kError : result.value ? Truth::kTrue : Truth::kFalse;
  if (keep == Keep::kYes) keep_outcome(key, truth);
  return truth;
}

std::string Selectors::error_text(SelectorId id, const Pool& pool, uint32_t device) {
  const Entry& entry = *entries_[id];
  if (!entry.program) return "does not compile: " + entry.error;
  cel::EvalResult result = entry.program->evaluate(device_input(device_index_, pool, device));
  return result.hint.empty() ? result.message : result.message + " (" + result.hint + ")";
}

}  // namespace dra::allocator
