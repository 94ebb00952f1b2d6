#include "pkg/inspect/verbs/cel_query.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/cel/cel.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/unseen.h"

namespace dra::inspect {
namespace {

std::string value_text(const api::DeviceAttribute& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "?"; }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const api::VersionText& version) const { return version.text; }
    std::string operator()(const std::vector<int64_t>& list) const { return counted(list.size(), "number"); }
    std::string operator()(const std::vector<bool>& list) const { return counted(list.size(), "boolean"); }
    std::string operator()(const std::vector<std::string>& list) const { return join(list, ","); }
    std::string operator()(const std::vector<api::VersionText>& list) const { return counted(list.size(), "version"); }
  };
  return std::visit(Text{}, value);
}

// "name" in the driver's domain, or "domain/name".
template <class Map>
const typename Map::mapped_type* named(const Map& map, std::string_view driver, const std::string& domain,
                                       const std::string& name) {
  if (const auto qualified = map.find(domain + "/" + name); qualified != map.end()) return &qualified->second;
  if (domain == driver)
    if (const auto bare = map.find(name); bare != map.end()) return &bare->second;
  return nullptr;
}

std::string values_read(const cel::Reads& reads, const api::ResourceSlice& slice, const api::Device& device) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  };
  if (reads.driver) add("driver", slice.driver);
  for (const auto& [domain, name] : reads.attributes)
    if (const auto* value = named(device.attributes, slice.driver, domain, name)) add(name, value_text(*value));
  for (const auto& [domain, name] : reads.capacities)
    if (const auto* value = named(device.capacity, slice.driver, domain, name)) add(name, value->value);
  return text;
}

template <class F>
void each_device(const Objects& objects, F&& f) {
  for (const auto& [pool, slices] : slices_by_pool(objects))
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) f(*slice, device);
}

// Published names by domain.
std::map<std::string, std::set<std::string>> published(const Objects& objects, bool capacities) {
  std::map<std::string, std::set<std::string>> names;
  const auto add = [&](const std::string& driver, const std::string& full) {
    const size_t slash = full.find('/');
    names[slash == std::string::npos ? driver : full.substr(0, slash)].insert(
        slash == std::string::npos ? full : full.substr(slash + 1));
  };
  each_device(objects, [&](const api::ResourceSlice& slice, const api::Device& device) {
    if (capacities)
      for (const auto& [name, value] : device.capacity) add(slice.driver, name);
    else
      for (const auto& [name, value] : device.attributes) add(slice.driver, name);
  });
  return names;
}

void note_unknown(std::vector<std::string>& into, const char* what,
                  const std::vector<std::pair<std::string, std::string>>& read,
                  const std::map<std::string, std::set<std::string>>& known) {
  for (const auto& [domain, name] : read) {
    const auto names = known.find(domain);
    if (names != known.end() && names->second.contains(name)) continue;
    std::string near;
    if (names == known.end()) {
      std::vector<std::string> domains;
      for (const auto& [one, ignored] : known) domains.push_back(one);
      near = nearest(domain, domains);
      into.push_back("no device has " + std::string(what) + "s of domain " + quote(domain) +
                     (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
      continue;
    }
    near = nearest(name, {names->second.begin(), names->second.end()});
    into.push_back("no device has " + std::string(what) + " " + quote(domain + "/" + name) +
                   (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
}

// How often devices have which value of what a selector reads. Bounded: of each name the first kMostValues values.
class ValueCounts {
 public:
  void add(const cel::Reads& reads, const api::ResourceSlice& slice, const api::Device& device) {
    for (const auto& [domain, name] : reads.attributes)
      if (const auto* value = named(device.attributes, slice.driver, domain, name)) count(name, value_text(*value));
    for (const auto& [domain, name] : reads.capacities)
      if (const auto* value = named(device.capacity, slice.driver, domain, name)) count(name, value->value);
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const auto& [name, values] : counts_) {
      std::vector<std::pair<std::string, uint32_t>> sorted(values.begin(), values.end());
      std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
      std::string text;
      for (size_t i = 0; i < sorted.size() && i < kMostShown; ++i)
        text += (i == 0 ? "" : ", ") + sorted[i].first + " (" + std::to_string(sorted[i].second) + ")";
      if (sorted.size() > kMostShown) text += " and " + counted(sorted.size() - kMostShown, "other value");
      all.push_back(name + " " + text);
    }
    return all;
  }

 private:
  static constexpr size_t kMostValues = 1000, kMostShown = 5;

  void count(const std::string& name, const std::string& value) {
    auto& values = counts_[name];
    const auto found = values.find(value);
    if (found != values.end())
      ++found->second;
    else if (values.size() < kMostValues)
      values.emplace(value, 1);
  }

  std::map<std::string, std::map<std::string, uint32_t>> counts_;
};

bool any_list(const Objects& objects) {
  bool found = false;
  each_device(objects, [&](const api::ResourceSlice&, const api::Device& device) {
    for (const auto& [name, value] : device.attributes) found = found || api::is_list(value);
  });
  return found;
}

struct Compiled {
  cel::CompileResult result;
  std::string refusal;
};

// Compiles with the API server's rules for a selector in a new object.
Compiled compile_new(const Objects& objects, const std::string& expression, const inventory::FeatureChoice& features) {
  cel::EnvironmentOptions options;
  options.list_attributes = features.said(&inventory::Features::list_attributes).value_or(any_list(objects));
  if (features.on(objects.server_version).selectors_of_137) options.release = cel::Release::k137;
  options.new_expressions = true;
  Compiled compiled;
  compiled.result = cel::compile(expression, cel::Environment(options));
  const cel::ApiVerdict verdict = cel::api_verdict(expression, compiled.result);
  if (verdict == cel::ApiVerdict::kAccepted) return compiled;
  if (compiled.result.error) compiled.refusal = compiled.result.error->message;
  if (verdict == cel::ApiVerdict::kTooComplex)
    compiled.refusal = "too complex, exceeds cost limit: estimated cost " +
                       std::to_string(compiled.result.estimated_cost) + ", limit " + std::to_string(cel::kMaxCost);
  if (verdict == cel::ApiVerdict::kTooLong)
    compiled.refusal = "longer than " + std::to_string(cel::kMaxExpressionBytes) + " bytes";
  if (compiled.refusal.empty()) compiled.refusal = std::string(cel::verdict_name(verdict));
  return compiled;
}

// Whether all of them match the device.
bool all_match(const std::vector<Compiled>& selectors, const cel::DeviceInput& device) {
  return std::all_of(selectors.begin(), selectors.end(), [&](const Compiled& one) {
    if (!one.refusal.empty()) return false;
    const cel::EvalResult result = one.result.program->evaluate(device);
    return result.ok() && result.value;
  });
}

std::vector<Compiled> compile_all(const Objects& objects, const std::vector<std::string>& selectors,
                                  const inventory::FeatureChoice& features) {
  std::vector<Compiled> compiled;
  for (const std::string& one : selectors) compiled.push_back(compile_new(objects, one, features));
  return compiled;
}

}  // namespace

AttributeTrial try_attribute(const Objects& objects, const std::string& attribute,
                             const std::vector<std::string>& selectors, const inventory::FeatureChoice& features) {
  AttributeTrial trial;
  const std::vector<Compiled> compiled = compile_all(objects, selectors, features);
  std::set<std::string> names;
  each_device(objects, [&](const api::ResourceSlice& slice, const api::Device& device) {
    if (!all_match(compiled, cel::make_device_input(slice.driver, device))) return;
    ++trial.devices;
    bool with = false;
    for (const auto& [name, value] : device.attributes) {
      std::string full = name.find('/') == std::string::npos ? slice.driver + "/" + name : name;
      with = with || full == attribute;
      if (names.size() < kMostNames) names.insert(std::move(full));
    }
    trial.with += with;
  });
  trial.names.assign(names.begin(), names.end());
  return trial;
}

SelectorTrial try_selector(const Objects& objects, const std::string& expression,
                           const inventory::FeatureChoice& features, const std::vector<std::string>& before) {
  SelectorTrial trial;
  const Compiled compiled = compile_new(objects, expression, features);
  if (!compiled.refusal.empty()) {
    trial.compile_error = compiled.refusal;
    if (compiled.result.error) trial.hint = compiled.result.error->hint;
    return trial;
  }
  const cel::Program& program = *compiled.result.program;
  trial.estimated_cost = compiled.result.estimated_cost;
  const std::vector<Compiled> admitting = compile_all(objects, before, features);
  ValueCounts values;
  each_device(objects, [&](const api::ResourceSlice& slice, const api::Device& device) {
    const auto input = cel::make_device_input(slice.driver, device);
    if (!all_match(admitting, input)) return;
    const cel::EvalResult result = program.evaluate(input);
    ++trial.devices;
    values.add(program.reads(), slice, device);
    trial.most_cost = std::max(trial.most_cost, result.cost);
    if (result.ok() && result.value) ++trial.matched;
    if (result.ok()) return;
    if (trial.failed++ > 0) return;
    trial.first_error = result.message;
    trial.first_failed = slice.driver + "/" + slice.pool.name + "/" + device.name;
    trial.hint = result.hint;
  });
  if (trial.matched == 0) trial.values = values.texts();
  note_unknown(trial.unknown_names, "attribute", program.reads().attributes, published(objects, false));
  note_unknown(trial.unknown_names, "capacity", program.reads().capacities, published(objects, true));
  return trial;
}

Answer cel_answer(const Objects& objects, const std::string& expression, const inventory::FeatureChoice& features) {
  Answer answer{"DRACel"};
  const SelectorTrial trial = try_selector(objects, expression, features);
  if (!trial.compile_error.empty()) {
    for (const std::string& line : split(trial.compile_error, '\n')) answer.lines.push_back(line);
    if (!trial.hint.empty()) answer.lines.push_back("hint: " + trial.hint);
    answer.statements.push_back({"DoesNotCompile", trial.compile_error});
    if (!trial.hint.empty()) answer.statements.back().remedies.push_back({"ToDo", trial.hint});
    answer.status = Status::kUsage;
    return answer;
  }
  if (trial.devices == 0 && objects.hides("resourceslices")) {
    answer.say("NotVisible", "it compiles; which devices it matches is not known: you may not list resourceslices");
    for (std::string& note : hidden_notes(objects)) answer.notes.push_back(std::move(note));
    answer.status = Status::kUnknown;
    return answer;
  }
  const Compiled compiled = compile_new(objects, expression, features);
  Table table{"", "devices", {{"DRIVER", "driver"}, {"POOL", "pool"}, {"DEVICE", "device"}, {"READ", "read"}}, {}};
  each_device(objects, [&](const api::ResourceSlice& slice, const api::Device& device) {
    const cel::EvalResult result = compiled.result.program->evaluate(cel::make_device_input(slice.driver, device));
    if (!result.ok() || !result.value) return;
    table.rows.push_back(
        {"device/" + slice.pool.name + "/" + device.name,
         {slice.driver, slice.pool.name, device.name, values_read(compiled.result.program->reads(), slice, device)}});
  });
  answer.say({"Matches",
              "matches " + std::to_string(trial.matched) + " of " + counted(trial.devices, "device") +
                  "; costs at most " + std::to_string(trial.most_cost) + " of " + std::to_string(cel::kMaxCost),
              {},
              "",
              {{"matched", trial.matched}, {"devices", trial.devices}, {"cost", trial.most_cost}}});
  if (trial.failed > 0) {
    answer.say(
        {"Fails",
         "fails on " + counted(trial.failed, "device") + ", first on " + trial.first_failed + ": " + trial.first_error,
         {},
         "",
         {{"devices", trial.failed}},
         {{"devices", {trial.first_failed}}}});
    if (!trial.hint.empty()) answer.lines.push_back("hint: " + trial.hint);
    if (!trial.hint.empty()) answer.statements.back().remedies.push_back({"ToDo", trial.hint});
  }
  for (const std::string& unknown : trial.unknown_names) answer.say("UnknownName", unknown);
  for (const std::string& values : trial.values) answer.say("KnownValues", "the devices have " + values);
  answer.tables.push_back(std::move(table));
  answer.status = trial.matched > 0 ? Status::kYes : Status::kNo;
  return answer;
}

}  // namespace dra::inspect
