#include "pkg/cel/device/device.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <variant>

#include "pkg/api/quantity.h"
#include "pkg/api/resource.h"
#include "pkg/api/semver.h"
#include "pkg/cel/device/device_rep.h"

namespace dra::cel {
namespace {

struct SplitName {
  std::string_view domain;
  std::string_view id;
  bool qualified;
};

SplitName split_name(std::string_view name, std::string_view driver) {
  size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {driver, name, false};
  return {name.substr(0, slash), name.substr(slash + 1), true};
}

// One published value, by domain and id, before the maps are made.
struct Published {
  Value value;
  bool qualified = false;
  bool list = false;
  std::string problem;  // why it cannot be converted
  std::string shown;    // the name as published
};
using Domains = std::map<std::string, std::map<std::string, Published, std::less<>>, std::less<>>;

std::string attribute_problem(std::string_view name, std::string_view why) {
  return "attribute " + std::string(name) + ": " + std::string(why);
}

}  // namespace

uint64_t member_hash(std::string_view domain, std::string_view name) {
  uint64_t h = 14695981039346656037ULL;
  auto mix = [&h](std::string_view text) {
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    h = (h ^ 0x100) * 1099511628211ULL;
  };
  mix(domain);
  mix(name);
  return h ^ (h >> 29);
}

void MemberIndex::build() {
  if (members.empty()) return;
  size_t size = 4;
  while (size < members.size() * 2) size *= 2;
  slots.assign(size, {});
  for (const DeviceMember& m : members) {
    uint64_t hash = member_hash(m.domain, m.name);
    size_t i = hash & (size - 1);
    while (slots[i].member != nullptr) i = (i + 1) & (size - 1);
    slots[i] = {hash, &m};
  }
}

struct DeviceInputBuilder::State {
  std::shared_ptr<DeviceInput::Rep> rep = std::make_shared<DeviceInput::Rep>();
  std::string_view driver;
  Domains attributes;
  Domains capacities;

  void put(Domains& domains, std::string_view name, Published published) {
    SplitName split = split_name(name, driver);
    auto& domain = domains[std::string(split.domain)];
    auto it = domain.find(split.id);
    if (it != domain.end() && it->second.qualified && !split.qualified) return;
    published.qualified = split.qualified;
    published.shown = name;
    domain.insert_or_assign(std::string(split.id), std::move(published));
  }
  void put_value(std::string_view name, Value value) { put(attributes, name, {value, false, false, "", ""}); }
  void put_bad(std::string_view name, std::string problem) {
    put(attributes, name, {Value::null(), false, false, std::move(problem), ""});
  }
  void put_list(std::string_view name, const std::vector<Value>& values, std::string problem = "") {
    Value* items = rep->arena.array<Value>(values.size());
    std::copy(values.begin(), values.end(), items);
    auto* list = rep->arena.make<ListRep>();
    list->items = items;
    list->size = static_cast<uint32_t>(values.size());
    list->weight = list_weight(items, values.size());
    put(attributes, name, {Value::of_list(list), false, true, std::move(problem), ""});
  }

  std::optional<Value> version(std::string_view text, std::string& problem) {
    Result<api::Semver> parsed = api::Semver::parse(text);
    if (!parsed) {
      problem = "parse semantic version: " + parsed.error().message();
      return std::nullopt;
    }
    return Value::of_semver(rep->arena.make<api::Semver>(std::move(*parsed)));
  }

  // domain -> id -> value, sorted by name; the index over both levels.
  const MapRep* make_maps(const Domains& domains, MemberIndex& index) {
    Arena& arena = rep->arena;
    auto* outer = arena.array<MapEntry>(domains.size());
    size_t d = 0;
    for (const auto& [domain, published] : domains) {
      std::string_view domain_text = arena.copy(domain);
      auto* inner = arena.array<MapEntry>(published.size());
      size_t i = 0;
      for (const auto& [id, p] : published) {
        std::string_view id_text = arena.copy(id);
        inner[i] = {Value::of_scanned_string(id_text), p.value};
        index.members.push_back({domain_text, id_text, &inner[i].value});
        ++i;
      }
      outer[d++] = {Value::of_scanned_string(domain_text), Value::of_map(map_of(inner, i))};
    }
    index.build();
    MapRep* map = map_of(outer, d);
    map->default_empty_map = true;
    return map;
  }
  MapRep* map_of(const MapEntry* entries, size_t count) {
    auto* map = rep->arena.make<MapRep>();
    map->entries = entries;
    map->size = static_cast<uint32_t>(count);
    map->weight = static_cast<uint32_t>(2 * count);
    for (size_t i = 0; i < count; ++i) map->weight += static_cast<uint32_t>(value_weight(entries[i].value));
    map->string_keys = true;
    map->device = true;
    return map;
  }

  // The first bad value by name: upstream reports any of them.
  void find_spoilers(const Domains& domains) {
    std::map<std::string, const Published*> by_name;
    for (const auto& domain : domains) {
      for (const auto& p : domain.second) by_name[p.second.shown] = &p.second;
    }
    for (const auto& [name, p] : by_name) {
      if (!p->problem.empty() && rep->spoiled.empty()) rep->spoiled = p->problem;
      if (rep->spoiled_list.empty() && (p->list || !p->problem.empty())) {
        rep->spoiled_list = p->list ? attribute_problem(name, "unsupported attribute value") : p->problem;
      }
    }
  }
};

DeviceInputBuilder::DeviceInputBuilder(std::string_view driver, bool allow_multiple_allocations)
    : state_(std::make_unique<State>()) {
  state_->driver = state_->rep->arena.copy(driver);
  state_->rep->facts.driver = Value::of_scanned_string(state_->driver);
  state_->rep->facts.allow_multiple = Value::of_bool(allow_multiple_allocations);
}

DeviceInputBuilder::~DeviceInputBuilder() = default;

DeviceInputBuilder& DeviceInputBuilder::add_bool(std::string_view name, bool value) {
  state_->put_value(name, Value::of_bool(value));
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_int(std::string_view name, int64_t value) {
  state_->put_value(name, Value::of_int(value));
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_string(std::string_view name, std::string_view value) {
  state_->put_value(name, Value::of_scanned_string(state_->rep->arena.copy(value)));
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_version(std::string_view name, std::string_view text) {
  std::string problem;
  if (auto value = state_->version(text, problem)) {
    state_->put_value(name, *value);
  } else {
    state_->put_bad(name, attribute_problem(name, problem));
  }
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_bools(std::string_view name, const std::vector<bool>& values) {
  std::vector<Value> list;
  for (bool v : values) list.push_back(Value::of_bool(v));
  state_->put_list(name, list);
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_ints(std::string_view name, const std::vector<int64_t>& values) {
  std::vector<Value> list;
  for (int64_t v : values) list.push_back(Value::of_int(v));
  state_->put_list(name, list);
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_strings(std::string_view name, const std::vector<std::string>& values) {
  std::vector<Value> list;
  for (const std::string& v : values) list.push_back(Value::of_scanned_string(state_->rep->arena.copy(v)));
  state_->put_list(name, list);
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_versions(std::string_view name, const std::vector<std::string>& texts) {
  std::vector<Value> list;
  std::string problem;
  for (const std::string& text : texts) {
    auto value = state_->version(text, problem);
    if (!value) break;
    list.push_back(*value);
  }
  state_->put_list(name, list, problem.empty() ? "" : attribute_problem(name, problem));
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_empty(std::string_view name) {
  state_->put_bad(name, attribute_problem(name, "unsupported attribute value"));
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_capacity(std::string_view name, const api::Quantity& value) {
  const auto* copy = state_->rep->arena.make<api::Quantity>(value);
  state_->put(state_->capacities, name, {Value::of_quantity(copy), false, false, "", ""});
  return *this;
}

DeviceInputBuilder& DeviceInputBuilder::add_capacity_text(std::string_view name, std::string_view text) {
  Result<api::Quantity> parsed = api::Quantity::parse(text);
  if (parsed) return add_capacity(name, *parsed);
  std::string problem = "capacity " + std::string(name) + ": " + parsed.error().message();
  state_->put(state_->capacities, name, {Value::null(), false, false, std::move(problem), ""});
  return *this;
}

DeviceInput DeviceInputBuilder::build() {
  DeviceInput::Rep& rep = *state_->rep;
  const MapRep* attributes = state_->make_maps(state_->attributes, rep.facts.attributes);
  const MapRep* capacities = state_->make_maps(state_->capacities, rep.facts.capacities);
  state_->find_spoilers(state_->attributes);
  state_->find_spoilers(state_->capacities);
  // Sorted by name, as every map.
  rep.fields[0] = {Value::of_scanned_string("allowMultipleAllocations"), rep.facts.allow_multiple};
  rep.fields[1] = {Value::of_scanned_string("attributes"), Value::of_map(attributes)};
  rep.fields[2] = {Value::of_scanned_string("capacity"), Value::of_map(capacities)};
  rep.fields[3] = {Value::of_scanned_string("driver"), rep.facts.driver};
  rep.device.entries = rep.fields;
  rep.device.size = 4;
  rep.device.string_keys = true;
  rep.device.device = true;
  return DeviceInput(std::move(state_->rep));
}

DeviceInput::DeviceInput() : DeviceInput(DeviceInputBuilder("").build()) {}

std::string_view DeviceInput::driver() const {
  return rep_->facts.driver.str();
}

bool DeviceInput::allow_multiple_allocations() const {
  return rep_->facts.allow_multiple.b;
}

std::string_view DeviceInput::spoiled(bool list_attributes) const {
  return list_attributes ? rep_->spoiled : rep_->spoiled_list;
}

const Value* DeviceInput::attribute(std::string_view domain, std::string_view name) const {
  return rep_->facts.attributes.find(member_hash(domain, name), domain, name);
}

const Value* DeviceInput::capacity(std::string_view domain, std::string_view name) const {
  return rep_->facts.capacities.find(member_hash(domain, name), domain, name);
}

namespace {

struct AttributeAdder {
  DeviceInputBuilder& builder;
  std::string_view name;

  void operator()(std::monostate) const { builder.add_empty(name); }
  void operator()(int64_t v) const { builder.add_int(name, v); }
  void operator()(bool v) const { builder.add_bool(name, v); }
  void operator()(const std::string& v) const { builder.add_string(name, v); }
  void operator()(const api::VersionText& v) const { builder.add_version(name, v.text); }
  void operator()(const std::vector<int64_t>& v) const { builder.add_ints(name, v); }
  void operator()(const std::vector<bool>& v) const { builder.add_bools(name, v); }
  void operator()(const std::vector<std::string>& v) const { builder.add_strings(name, v); }
  void operator()(const std::vector<api::VersionText>& v) const {
    std::vector<std::string> texts;
    for (const api::VersionText& t : v) texts.push_back(t.text);
    builder.add_versions(name, texts);
  }
};

}  // namespace

DeviceInputBuilder& DeviceInputBuilder::add(std::string_view name, const api::DeviceAttribute& attribute) {
  std::visit(AttributeAdder{*this, name}, attribute);
  return *this;
}

DeviceInput make_device_input(std::string_view driver, const api::Device& device) {
  DeviceInputBuilder builder(driver, device.allow_multiple_allocations);
  for (const auto& [name, attribute] : device.attributes) builder.add(name, attribute);
  for (const auto& [name, capacity] : device.capacity) builder.add_capacity_text(name, capacity.value);
  return builder.build();
}

}  // namespace dra::cel
