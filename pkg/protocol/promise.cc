#include "pkg/protocol/promise.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/api/decode/decode.h"
#include "pkg/api/encode.h"
#include "pkg/base/json_text.h"
#include "pkg/base/timestamp.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/pod_status.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/reasons.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

constexpr std::string_view kPromised = condition_reason(kPromiseCondition, "Promised");

const api::Condition* find(const api::Pod& pod) {
  const auto found = std::find_if(pod.conditions.begin(), pod.conditions.end(),
                                  [](const api::Condition& one) { return one.type == kPromiseCondition; });
  return found == pod.conditions.end() ? nullptr : &*found;
}

void write_instances(JsonText& out, const char* name, const std::vector<Instance>& all) {
  out.array(name, [&] {
    for (const Instance& one : all) out.value(one.key + "/" + one.uid);
  });
}

std::string text_of(const Promise& promise) {
  JsonText out;
  out.object([&] {
    out.member("pod", promise.pod_uid);
    if (!promise.of_group()) {
      out.member("node", promise.node);
    } else {
      out.object("places", [&] {
        for (const Promise::Place& place : promise.places) out.member(place.pod.key + "/" + place.pod.uid, place.node);
      });
    }
    out.member("since", promise.since);
    write_instances(out, "victims", promise.victims);
    write_instances(out, "victimClaims", promise.victim_claims);
    if (promise.has_moves())
      out.array("moves", [&] {
        for (const Promise::Move& move : promise.moves)
          out.object([&] {
            out.member("controller", move.controller);
            out.member("node", move.node);
            out.array("claims", [&] {
              for (const std::string& claim : move.claims) out.value(claim);
            });
            if (move.settled()) out.member("next", move.next);
          });
      });
    out.object("allocations", [&] {
      for (const auto& [claim, allocation] : promise.allocations) {
        api::AllocationResult devices;
        devices.results = allocation.results;
        out.key(claim);
        api::write(out, devices);
      }
    });
  });
  return std::move(out).text();
}

bool read_text(const nlohmann::json& record, const char* name, std::string& out) {
  const auto found = record.find(name);
  if (found == record.end() || !found->is_string()) return false;
  out = found->get<std::string>();
  return !out.empty();
}

// "namespace/name/uid"
std::optional<Instance> instance_of(const std::string& text) {
  const size_t cut = text.rfind('/');
  if (cut == std::string::npos || cut == text.find('/')) return std::nullopt;
  return Instance{text.substr(0, cut), text.substr(cut + 1)};
}

bool read_instances(const nlohmann::json& record, const char* name, std::vector<Instance>& out) {
  const auto found = record.find(name);
  if (found == record.end() || !found->is_array()) return false;
  for (const nlohmann::json& one : *found) {
    if (!one.is_string()) return false;
    std::optional<Instance> instance = instance_of(one.get_ref<const std::string&>());
    if (!instance) return false;
    out.push_back(std::move(*instance));
  }
  return true;
}

// A group is of one namespace. Each pod has one place.
bool read_places(const nlohmann::json& places, const std::string& ns, std::vector<Promise::Place>& out) {
  if (!places.is_object() || places.empty() || places.size() > kMostPlaces) return false;
  std::set<std::string> pods;
  for (const auto& [text, node] : places.items()) {
    std::optional<Instance> pod = instance_of(text);
    if (!pod || !pod->key.starts_with(ns + "/") || !pods.insert(pod->key).second) return false;
    if (!node.is_string() || node.get_ref<const std::string&>().empty()) return false;
    out.push_back({std::move(*pod), node.get<std::string>()});
  }
  return true;
}

// One for each victim. A claim of theirs has its new allocation in the record, or keeps what it has.
bool read_moves(const nlohmann::json& moves, Promise& promise) {
  if (!moves.is_array() || moves.empty() || moves.size() > kMostMoves || moves.size() != promise.victims.size())
    return false;
  for (const nlohmann::json& one : moves) {
    Promise::Move& move = promise.moves.emplace_back();
    move.pod = promise.victims[promise.moves.size() - 1];
    if (!one.is_object() || !read_text(one, "controller", move.controller) || !read_text(one, "node", move.node))
      return false;
    const auto claims = one.find("claims");
    if (claims == one.end() || !claims->is_array()) return false;
    for (const nlohmann::json& claim : *claims) {
      if (!claim.is_string() || !promise.allocations.contains(claim.get_ref<const std::string&>())) return false;
      move.claims.push_back(claim.get<std::string>());
    }
    if (one.contains("next") && !read_text(one, "next", move.next)) return false;
  }
  for (Promise::Move& move : promise.moves)
    if (move.settled()) settle(promise, move, move.next);
  return true;
}

// Read as the status of a claim, by the reader of claims.
bool read_allocation(const nlohmann::json& value, api::AllocationResult& out) {
  if (!value.is_object()) return false;
  const auto claim = api::decode<api::ResourceClaim>(nlohmann::json{
      {"metadata", {{"name", "promised"}, {"namespace", "promised"}, {"uid", "promised"}}},
      {"status", {{"allocation", value}}}}.dump());
  if (!claim || !claim->status.allocation) return false;
  out.results = claim->status.allocation->results;
  return true;
}

Result<Promise> read_promise(const api::Condition& condition, const api::ObjectMeta& pod) {
  const auto broken = [](const std::string& what) {
    return fail(Code::kInvalidArgument, "the condition " + std::string(kPromiseCondition) + " " + what);
  };
  if (condition.message.size() > kMaxPromiseBytes) return broken("is longer than 512 KiB");
  const nlohmann::json record = nlohmann::json::parse(condition.message, nullptr, false);
  if (!record.is_object()) return broken("is not a JSON object");
  Promise promise;
  promise.proven = condition.status == "True";
  Timestamp since;
  if (!read_text(record, "pod", promise.pod_uid)) return broken("does not say whose it is");
  if (promise.pod_uid != pod.uid) return broken("is that of another pod");
  if (const auto places = record.find("places"); places != record.end()) {
    if (record.contains("node") || !read_places(*places, pod.ns, promise.places))
      return broken("has no readable list of places");
  } else if (!read_text(record, "node", promise.node)) {
    return broken("names no node");
  }
  if (!read_text(record, "since", promise.since) || !parse_rfc3339(promise.since, since))
    return broken("does not say since when it is");
  if (!read_instances(record, "victims", promise.victims) ||
      !read_instances(record, "victimClaims", promise.victim_claims))
    return broken("has no readable list of victims");
  const auto allocations = record.find("allocations");
  if (allocations == record.end() || !allocations->is_object()) return broken("has no allocations");
  for (const auto& [claim, value] : allocations->items())
    if (!read_allocation(value, promise.allocations[claim])) return broken("has an unreadable allocation of " + claim);
  if (const auto moves = record.find("moves"); moves != record.end())
    if (promise.of_group() || !read_moves(*moves, promise)) return broken("has no readable list of moves");
  return promise;
}

}  // namespace

bool has_promise(const api::Pod& pod) {
  return find(pod) != nullptr;
}

std::optional<Result<Promise>> promise_of(const api::Pod& pod) {
  const api::Condition* condition = find(pod);
  if (condition == nullptr) return std::nullopt;
  return read_promise(*condition, pod.metadata);
}

std::vector<Promise::Place> places_of(const Promise& promise, const api::Pod& pod) {
  if (promise.of_group()) return promise.places;
  return {{{pod.metadata.key(), pod.metadata.uid}, promise.node}};
}

std::string owner_key(const Promise::Move& move) {
  return move.ns() + "/" + move.controller;
}

bool has_left(const Promise::Move& move, const api::Pod* known) {
  return known == nullptr || known->metadata.uid != move.pod.uid || known->metadata.deleting() || known->done();
}

void settle(Promise& promise, Promise::Move& move, std::string next) {
  move.next = std::move(next);
  for (const std::string& claim : move.claims) promise.allocations.erase(claim);
  move.claims.clear();
}

void add_unheld(const api::AllocationResult& promised, const inventory::Inventory& inventory,
                api::AllocationResult& all) {
  for (const api::DeviceRequestAllocationResult& result : promised.results)
    if (!result.admin_access &&
        (result.share_id || inventory.holders({result.driver, result.pool, result.device}).empty()))
      all.results.push_back(result);
}

Write write_promise(const View& view, const api::Pod& pod, Promise promise) {
  promise.pod_uid = pod.metadata.uid;
  if (promise.since.empty()) promise.since = format_rfc3339(view.now());
  api::Condition condition;
  condition.type = kPromiseCondition;
  condition.status = promise.proven ? "True" : "Unknown";
  condition.reason = kPromised;
  condition.message = text_of(promise);
  return apply_pod_status(pod, {std::string(kPromiseManager), promise.proven ? "prove-promise" : "promise", "", true},
                          [&](JsonText& out) {
                            write_conditions(out, condition, format_rfc3339(view.now()));
                            if (!pod.node_name.empty()) return;  // others have places in it
                            for (const Promise::Place& place : places_of(promise, pod))
                              if (place.pod.uid == pod.metadata.uid) out.member("nominatedNodeName", place.node);
                          });
}

// A JSON patch, not an apply without the condition: whoever wrote the list of conditions as a whole owns ours, too, and
// then it would stay. The version makes sure that it is still at this index.
Write write_promise_removed(const api::Pod& pod) {
  JsonText out;
  const auto operation = [&](const char* op, const std::string& path, std::string_view value = {}) {
    out.object([&] {
      out.member("op", op);
      out.member("path", path);
      if (!value.empty()) out.member("value", value);
    });
  };
  out.array([&] {
    operation("add", "/metadata/uid", pod.metadata.uid);
    operation("add", "/metadata/resourceVersion", pod.metadata.resource_version);
    if (const api::Condition* condition = find(pod)) {
      const std::string at = "/status/conditions/" + std::to_string(condition - pod.conditions.data());
      operation("test", at + "/type", kPromiseCondition);
      operation("remove", at);
    }
    if (!pod.nominated_node_name.empty()) operation("remove", "/status/nominatedNodeName");
  });
  Write write;
  write.verb = Verb::kJsonPatch;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.resource_version = pod.metadata.resource_version;
  write.field_manager = kPromiseManager;
  write.purpose = "end-promise";
  write.body = std::move(out).text();
  return write;
}

}  // namespace dra::protocol
