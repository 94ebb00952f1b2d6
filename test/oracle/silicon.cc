#include "test/oracle/silicon.h"

#include <algorithm>
#include <regex>

#include "test/oracle/amount.h"

namespace dra::oracle {
namespace {

std::optional<std::string> spelled(const std::string& space, std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  std::smatch parts;
  if (space == "pci") {
    static const std::regex form("(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}:[01][0-9a-f]\\.[0-7])");
    if (!std::regex_match(text, parts, form)) return std::nullopt;
    std::string domain = parts[1];
    while (domain.size() > 4 && domain[0] == '0') domain.erase(0, 1);
    while (domain.size() < 4) domain.insert(0, "0");
    text = domain + ":" + parts[2].str();
    return text == "0000:00:00.0" ? std::nullopt : std::optional(text);
  }
  if (space == "nvidia-uuid") {
    static const std::regex form("(?:gpu-|mig-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})");
    if (!std::regex_match(text, parts, form)) return std::nullopt;
    return parts[1].str().find_first_not_of("0-") == std::string::npos ? std::nullopt : std::optional(text);
  }
  static const std::regex form("[!-~]{1,64}");
  return std::regex_match(text, form) ? std::optional(text) : std::nullopt;
}

std::string space_of(const std::string& value) {
  return value.substr(0, value.find(' '));
}

std::set<std::string> common(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

}  // namespace

bool is_exempt(const World& world, const std::string& device_class) {
  for (const api::DeviceClass& one : world.classes)
    if (one.metadata.name == device_class) {
      const auto found = one.metadata.annotations.find("dra-controller-manager/shared-silicon");
      return found != one.metadata.annotations.end() && found->second == "true";
    }
  return false;
}

SiliconOracle::SiliconOracle(const World& world, const SelectorJudge& judge) : world_(world) {
  std::map<std::pair<std::string, std::string>, int64_t> newest;
  for (const api::ResourceSlice& slice : world.slices) {
    int64_t& known = newest.try_emplace({slice.driver, slice.pool.name}, slice.pool.generation).first->second;
    known = std::max(known, slice.pool.generation);
  }
  for (const api::ResourceSlice& slice : world.slices)
    for (const api::Device& device : slice.devices)
      // Without their gate, slices with counters or a place for each device do not count at all.
      if (world.on("DRAPartitionableDevices") || (slice.shared_counters.empty() && !slice.per_device_node_selection))
        publish(slice, device, newest[{slice.driver, slice.pool.name}] == slice.pool.generation);
  hold();
  find_plugin(judge);
}

void SiliconOracle::publish(const api::ResourceSlice& slice, const api::Device& device, bool counts) {
  const identity::Rules& rules = world_.identity_rules;
  SiliconFace face;
  face.name = {slice.driver, slice.pool.name, device.name};
  face.node = slice.per_device_node_selection ? device.node_name : slice.node_name;
  std::map<std::string, const api::DeviceAttribute*> attributes;
  for (const auto& [key, value] : device.attributes)
    if (key.find('/') == std::string::npos) attributes[slice.driver + "/" + key] = &value;
  for (const auto& [key, value] : device.attributes)
    if (key.find('/') != std::string::npos) attributes[key] = &value;
  if (const auto type = attributes.find(slice.driver + "/type"); type != attributes.end())
    if (const auto* text = std::get_if<std::string>(type->second); text != nullptr && !text->empty())
      face.types.insert(*text);
  const auto read = [&](const auto& table, std::set<std::string>& into) {
    for (const auto& [attribute, space] : table) {
      const auto found = attributes.find(attribute);
      if (found == attributes.end()) continue;
      std::vector<std::string> texts;
      bool bad = false;
      if (const auto* one = std::get_if<std::string>(found->second)) {
        texts = {*one};
      } else if (const auto* list = std::get_if<std::vector<std::string>>(found->second)) {
        texts = *list;
      } else {
        bad = true;
      }
      for (const std::string& text : texts) {
        const auto value = spelled(space, text);
        bad = bad || !value;
        if (value && (space != "pci" || !face.node.empty())) into.insert(space + " " + *value);
      }
      if (bad) malformed_.insert(face.name.text() + " " + attribute);
    }
  };
  read(rules.own, face.own);
  read(rules.parent, face.parent);
  if (const auto parts = rules.parts.find(slice.driver); parts != rules.parts.end())
    for (const std::string& type : face.types)
      if (parts->second.contains(type))
        for (auto value = face.own.begin(); value != face.own.end();) {
          const bool moves = space_of(*value) == "pci";
          if (moves) face.parent.insert(*value);
          value = moves ? face.own.erase(value) : std::next(value);
        }
  for (const std::string& value : face.own) face.parent.erase(value);
  if (counts) published_.push_back(std::move(face));
}

std::optional<std::string> SiliconOracle::piece(const SiliconFace& a, const SiliconFace& b) const {
  if (!a.node.empty() && !b.node.empty() && a.node != b.node) return std::nullopt;
  std::set<std::string> shared = common(a.own, b.own);
  shared.merge(common(a.own, b.parent));
  shared.merge(common(a.parent, b.own));
  if (!shared.empty()) return *shared.begin();
  for (const std::string& x : a.own)
    for (const std::string& y : b.own)
      if (space_of(x) == space_of(y)) return std::nullopt;
  shared = common(a.parent, b.parent);
  return shared.empty() ? std::nullopt : std::optional(*shared.begin());
}

std::optional<std::string> SiliconOracle::conflict(const SiliconFace& a, const SiliconFace& b) const {
  if (a.name == b.name) return std::nullopt;
  bool apart = a.name.driver == b.name.driver && a.name.pool == b.name.pool;
  if (const auto pairs = world_.identity_rules.exclusive.find(a.name.driver);
      apart && pairs != world_.identity_rules.exclusive.end())
    for (const auto& [x, y] : pairs->second)
      if (x != y && ((a.types.contains(x) && b.types.contains(y)) || (a.types.contains(y) && b.types.contains(x))))
        apart = false;
  return apart ? std::nullopt : piece(a, b);
}

void SiliconOracle::hold() {
  std::set<DeviceName> names = world_.allocated;
  for (const auto& [name, share] : world_.allocated_shares) names.insert(name);
  for (const auto& [name, consumed] : world_.consumed) names.insert(name);
  for (const DeviceName& name : names) {
    Held held;
    held.name = name;
    for (const SiliconFace& face : published_)
      if (face.name == name) {
        held.published = true;
        held.faces.push_back(face);
        held.published_own.insert(face.own.begin(), face.own.end());
      }
    if (const auto record = world_.recorded.find(name); record != world_.recorded.end()) {
      SiliconFace& face = held.recorded.emplace();
      face.name = name;
      face.own.insert(record->second.own.begin(), record->second.own.end());
      face.parent.insert(record->second.part_of.begin(), record->second.part_of.end());
      face.node = record->second.node.value_or("");
      if (record->second.type) face.types.insert(*record->second.type);
      held.exempt = record->second.shared;
      held.faces.push_back(face);
      for (const std::string& value : face.own) {
        const bool some = std::any_of(held.published_own.begin(), held.published_own.end(),
                                      [&](const std::string& now) { return space_of(now) == space_of(value); });
        if (some && !held.published_own.contains(value)) changed_.insert(name.text());
      }
    } else if (!held.published) {
      unknown_.insert(name.text());
    }
    std::set<std::string> types;
    for (const SiliconFace& face : held.faces) types.insert(face.types.begin(), face.types.end());
    for (SiliconFace& face : held.faces) face.types = types;
    held_.push_back(std::move(held));
  }
}

const SiliconFace* SiliconOracle::find(const DeviceName& device, const std::string& node) const {
  for (const SiliconFace& face : published_)
    if (face.name == device && face.node == node) return &face;
  return nullptr;
}

bool SiliconOracle::rivals(const DeviceName& a, const std::string& node_a, const DeviceName& b,
                           const std::string& node_b) const {
  const SiliconFace* x = find(a, node_a);
  const SiliconFace* y = find(b, node_b);
  return x != nullptr && y != nullptr && conflict(*x, *y).has_value();
}

std::optional<SiliconOracle::Why> SiliconOracle::excluded(const DeviceName& device, const std::string& node) const {
  const SiliconFace* face = find(device, node);
  if (face == nullptr) return std::nullopt;
  std::optional<Why> first;
  for (const Held& held : held_) {
    if (held.exempt || held.name == device) continue;
    std::set<std::string> values;
    for (const SiliconFace& one : held.faces)
      if (const auto value = conflict(one, *face)) values.insert(*value);
    const bool meet = held.recorded && (held.recorded->node.empty() || node.empty() || held.recorded->node == node);
    if (values.empty() && meet && held.published && held.name.driver == device.driver && held.name.pool == device.pool)
      for (const std::string& value : face->own) {
        const bool some = std::any_of(held.published_own.begin(), held.published_own.end(),
                                      [&](const std::string& now) { return space_of(now) == space_of(value); });
        if (held.recorded->own.contains(value) && some && !held.published_own.contains(value)) values.insert(value);
      }
    if (!values.empty() && (!first || held.name.text() < first->holder)) first = Why{held.name.text(), *values.begin()};
  }
  return first;
}

void SiliconOracle::find_plugin(const SelectorJudge& judge) {
  const identity::Rules& rules = world_.identity_rules;
  const auto positive = [](const api::StringMap& list, const std::string& resource) {
    const auto found = list.find(resource);
    return found != list.end() && parse_amount(found->second).value_or(0) > 0;
  };
  for (const api::Node& node : world_.nodes) {
    std::set<std::string> used;
    for (const api::Pod& pod : world_.pods) {
      if (pod.node_name != node.metadata.name || pod.phase == "Succeeded" || pod.phase == "Failed") continue;
      for (const auto* list : {&pod.containers, &pod.init_containers})
        for (const api::Container& container : *list)
          for (const auto& [resource, amount] : container.requests) {
            bool claim = false;
            if (pod.extended_resource_claim_status)
              for (const auto& one : pod.extended_resource_claim_status->request_mappings)
                claim = claim || (one.container_name == container.name && one.resource_name == resource);
            if (!claim && positive(container.requests, resource)) used.insert(resource);
          }
    }
    const auto add = [&](const std::string& driver, const std::string& resource) {
      const auto use = rules.plugin.find(driver);
      const auto value = use == rules.plugin.end() ? identity::PluginUse::kPlugin : use->second;
      const bool on = (value != identity::PluginUse::kApart && used.contains(resource)) ||
                      (value == identity::PluginUse::kPlugin && positive(node.allocatable, resource));
      if (!on) return;
      std::string& first = plugin_.try_emplace({node.metadata.name, driver}, resource).first->second;
      first = std::min(first, resource);
    };
    for (const auto& [driver, resources] : rules.plugin_resources)
      for (const std::string& resource : resources) add(driver, resource);
    for (const api::DeviceClass& one : world_.classes) {
      if (!one.extended_resource_name) continue;
      for (const api::ResourceSlice& slice : world_.slices)
        for (const api::Device& device : slice.devices) {
          if ((slice.per_device_node_selection ? device.node_name : slice.node_name) != node.metadata.name) continue;
          if (find({slice.driver, slice.pool.name, device.name}, node.metadata.name) == nullptr) continue;
          const bool selects = std::all_of(
              one.selectors.begin(), one.selectors.end(),
              [&](const std::string& selector) { return judge(selector, slice.driver, device) == Truth::kTrue; });
          if (selects) add(slice.driver, *one.extended_resource_name);
        }
    }
  }
}

bool SiliconOracle::is_plugins(const DeviceName& device, const std::string& node) const {
  if (!node.empty() && plugin_.contains({node, device.driver})) return true;
  const SiliconFace* face = find(device, node);
  return face != nullptr && std::any_of(published_.begin(), published_.end(), [&](const SiliconFace& other) {
           return !other.node.empty() && plugin_.contains({other.node, other.name.driver}) && conflict(*face, other);
         });
}

std::optional<identity::Record> SiliconOracle::record(const DeviceName& device, const std::string& node) const {
  const SiliconFace* face = find(device, node);
  if (face == nullptr || (face->own.empty() && face->parent.empty())) return std::nullopt;
  identity::Record record;
  record.own.assign(face->own.begin(), face->own.end());
  record.part_of.assign(face->parent.begin(), face->parent.end());
  if (!face->node.empty()) record.node = face->node;
  if (!face->types.empty()) record.type = *face->types.begin();
  return record;
}

}  // namespace dra::oracle
