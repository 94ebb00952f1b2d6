#include "pkg/gang/rails/supply.h"

#include <algorithm>

namespace dra::gang {

namespace {

// Devices that the request takes, by its alternatives.
RailSupply::Range range_of(const api::DeviceRequest& request) {
  RailSupply::Range out{UINT32_MAX, 0};
  const auto add = [&](const api::DeviceSubRequest& one) {
    const bool all = one.allocation_mode == "All";
    const auto count = static_cast<uint32_t>(std::clamp<int64_t>(one.count, 1, 1 << 20));
    out.least = std::min(out.least, all ? 1 : count);
    out.most = std::max<uint32_t>(out.most, all ? api::kMaxAllocationResults : count);
  };
  if (request.exactly) add(*request.exactly);
  for (const api::DeviceSubRequest& one : request.first_available) add(one);
  if (out.most == 0) out.least = 0;
  return out;
}

RailSupply::Range range_of(const Member& member, const RailRule::Of& of) {
  const auto taken = static_cast<uint32_t>(of.taken.size());
  RailSupply::Range out{taken, taken};
  for (const auto& [claim, name] : of.requests) {
    if (member.claims[claim]->status.allocation) continue;
    for (const api::DeviceRequest& request : member.claims[claim]->spec.requests) {
      if (request.name != name) continue;
      const RailSupply::Range one = range_of(request);
      out.least += one.least;
      out.most += one.most;
    }
  }
  return out;
}

}  // namespace

RailSupply::RailSupply(const GangRequest& request, const Table& table, uint32_t rule) : rule_(rule) {
  for (uint32_t kind = 0; kind < table.kinds.size(); ++kind) {
    const uint32_t member = table.kinds[kind].members[0];
    const RailRule::Of& of = request.rails[rule].of[member];
    if (of.requests.empty()) continue;
    KindOffer& made = kinds_.emplace_back();
    made.kind = kind;
    made.shares = table.kinds[kind].shares;
    made.devices = range_of(request.members[member], of);
    for (const alignment::DeviceRails& device : of.taken)
      for (const std::string& value : device) {
        const uint32_t number = number_of(value);
        if (made.taken.size() <= number) made.taken.resize(number + 1, 0);
        ++made.taken[number];
      }
  }
}

uint32_t RailSupply::number_of(const std::string& value) {
  const auto [at, added] = numbers_.try_emplace(value, static_cast<uint32_t>(values_.size()));
  if (added) values_.push_back(value);
  return at->second;
}

bool RailSupply::collect(const GangRequest& request, const Table& table, Nodes& nodes, allocator::Allocator& allocator,
                         allocator::Meter& meter) {
  for (KindOffer& kind : kinds_) {
    const uint32_t member = table.kinds[kind.kind].members[0];
    if (!kind.asked) {
      if (meter.stopped()) return false;
      for (const Candidate& candidate : nodes.candidates(member)) kind.nodes.push_back(candidate.node);
      meter.charge(kind.nodes.size() / 8 + 1);
      kind.asked = true;
    }
    allocator::Request question;
    const RailRule::Of& of = request.rails[rule_].of[member];
    allocator::ValueList list;
    list.attribute = request.rails[rule_].attribute;
    list.any = true;
    for (const uint32_t claim : table.claims_of[member]) {
      for (const auto& [of_member, name] : of.requests)
        if (request.members[member].claims[of_member]->metadata.uid == table.claims[claim].object->metadata.uid)
          list.requests.emplace_back(static_cast<uint32_t>(question.claims.size()), name);
      question.claims.push_back(table.claims[claim].object);
    }
    question.lists.push_back(std::move(list));
    if (question.lists[0].requests.empty()) kind.next = kind.nodes.size();
    for (bool first = true; kind.next < kind.nodes.size(); ++kind.next, first = false) {
      if (!first && meter.stopped()) return false;
      const allocator::ValueSupply supply = allocator.value_supply(question, kind.nodes[kind.next]);
      meter.charge(2 + supply.lines.size() / 4);
      if (!supply.finished) return false;
      add_line(kind, supply, static_cast<uint32_t>(of.requests.size()));
    }
    const auto taken = static_cast<uint32_t>(of.taken.size());
    kind.devices.most = std::min(kind.devices.most, taken + kind.most_here);
  }
  return true;
}

// A request takes a device once, several requests a shared one several times.
void RailSupply::add_line(KindOffer& kind, const allocator::ValueSupply& supply, uint32_t requests) {
  Line line;
  uint32_t here = 0;
  for (const allocator::ValueSupply::Line& one : supply.lines) {
    const uint32_t of_member = one.devices * (one.many ? requests : 1);
    here += of_member;
    for (const std::string& value : one.values) {
      const uint32_t number = number_of(value);
      if (line.devices.size() <= number) {
        line.devices.resize(number + 1, 0);
        line.of_member.resize(number + 1, 0);
      }
      line.devices[number] = std::min(kMany, line.devices[number] + (one.many ? kMany : one.devices));
      line.of_member[number] += of_member;
    }
  }
  kind.most_here = std::max(kind.most_here, here);
  ++kind.lines[std::move(line)];
}

uint64_t RailSupply::with_all(const KindOffer& kind, const std::vector<std::pair<uint32_t, uint32_t>>& wanted) const {
  if (kind.shares) return UINT64_MAX;
  uint64_t sum = 0;
  for (const auto& [line, nodes] : kind.lines) {
    uint64_t fit = kMany;
    for (const auto& [value, devices] : wanted) {
      const uint32_t more = devices - std::min(devices, of(kind.taken, value));
      if (more > of(line.of_member, value)) fit = 0;
      if (more > 0) fit = std::min<uint64_t>(fit, of(line.devices, value) / more);
    }
    sum += fit * nodes;
    work_ += 1 + wanted.size() / 4;
  }
  return sum;
}

uint64_t RailSupply::with_some(const KindOffer& kind, const std::vector<std::pair<uint32_t, uint32_t>>& wanted) const {
  uint64_t taken = 0;
  for (const uint32_t devices : kind.taken) taken += devices;
  const uint64_t each = kind.devices.least - std::min<uint64_t>(kind.devices.least, taken);
  if (each == 0 || kind.shares) return UINT64_MAX;
  uint64_t sum = 0;
  for (const auto& [line, nodes] : kind.lines) {
    uint64_t devices = 0;
    for (const auto& [value, entries] : wanted) devices += of(line.devices, value);
    sum += devices / each * nodes;
    work_ += 1 + wanted.size() / 4;
  }
  return sum;
}

}  // namespace dra::gang
