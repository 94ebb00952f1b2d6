#include "client/testing/fake_server.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::client::testing {

using nlohmann::json;

namespace {

struct Event {
  uint64_t revision;
  std::string collection;
  std::string key;
  std::string type;
  std::string object;
};

struct Watch {
  std::string collection;
  std::string ns;
  bool bookmarks;
  std::shared_ptr<ServerExchange> exchange;
  Handle bookmark_timer;
  Handle end_timer;
};

struct Target {
  std::string collection;
  std::string ns;
  std::string name;
  std::string subresource;
  std::map<std::string, std::string> query;
};

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Target parse_target(const std::string& text) {
  Target target;
  auto question = text.find('?');
  auto parts = split(std::string_view(text).substr(1, question == std::string::npos ? question : question - 1), '/');
  size_t i = parts[0] == "api" ? 2 : 3;
  for (size_t j = 0; j < i; ++j) target.collection += "/" + parts[j];
  if (i + 2 < parts.size() && parts[i] == "namespaces") {
    target.ns = unescape(parts[i + 1]);
    i += 2;
  }
  target.collection += "/" + parts.at(i++);
  if (i < parts.size()) target.name = unescape(parts[i++]);
  if (i < parts.size()) target.subresource = parts[i];
  if (question != std::string::npos) {
    for (const auto& pair : split(std::string_view(text).substr(question + 1), '&')) {
      auto equals = pair.find('=');
      target.query[pair.substr(0, equals)] = equals == std::string::npos ? "" : unescape(pair.substr(equals + 1));
    }
  }
  return target;
}

Response status_answer(int code, const std::string& reason, const std::string& message, const std::string& field = "") {
  json status = {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::object()},
                 {"status", "Failure"}, {"reason", reason},   {"message", message},
                 {"code", code}};
  if (!field.empty()) status["details"]["causes"] = json::array({{{"field", field}, {"message", message}}});
  Response response;
  response.status = code;
  response.body = status.dump();
  return response;
}

std::string key_of(const std::string& ns, const std::string& name) {
  return ns.empty() ? name : ns + "/" + name;
}

}  // namespace

struct FakeServer::State {
  explicit State(Reactor& r) : reactor(r) {}
  Reactor& reactor;
  uint64_t revision = 100;
  uint64_t compacted = 0;
  uint64_t uids = 0;
  uint64_t watch_ids = 0;
  // collection -> key -> object
  std::map<std::string, std::map<std::string, json>> objects;
  std::vector<Event> history;
  std::map<uint64_t, Watch> watches;

  void record(const std::string& collection, const std::string& key, const std::string& type, const json& object) {
    history.push_back({revision, collection, key, type, object.dump()});
    for (auto& [id, watch] : watches) {
      if (watch.collection == collection) send(watch, history.back());
    }
  }
  static void send(Watch& watch, const Event& event) {
    if (!watch.ns.empty() && event.key.rfind(watch.ns + "/", 0) != 0) return;
    watch.exchange->write("{\"type\":\"" + event.type + "\",\"object\":" + event.object + "}\n");
  }
  json& store(const std::string& collection, const std::string& key, json object, bool fresh) {
    object["metadata"]["resourceVersion"] = std::to_string(++revision);
    json& kept = objects[collection][key] = std::move(object);
    record(collection, key, fresh ? "ADDED" : "MODIFIED", kept);
    return kept;
  }
  json remove(const std::string& collection, const std::string& key) {
    json object = objects[collection][key];
    objects[collection].erase(key);
    object["metadata"]["resourceVersion"] = std::to_string(++revision);
    record(collection, key, "DELETED", object);
    return object;
  }
  json create(const std::string& collection, const std::string& ns, const std::string& name, json object) {
    object["metadata"]["name"] = name;
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    object["metadata"]["uid"] = "uid-" + std::to_string(++uids);
    object["metadata"]["creationTimestamp"] = format_rfc3339(reactor.clock().wall_now());
    return store(collection, key_of(ns, name), std::move(object), true);
  }
  json* find(const std::string& collection, const std::string& key) {
    auto it = objects[collection].find(key);
    return it == objects[collection].end() ? nullptr : &it->second;
  }
  // True once the last finalizer of an object being deleted is gone.
  bool finished(const json& object) {
    const json& meta = object["metadata"];
    return meta.contains("deletionTimestamp") && (!meta.contains("finalizers") || meta["finalizers"].empty());
  }
  std::map<std::string, json> state_at(const std::string& collection, uint64_t at) const {
    std::map<std::string, json> state;
    for (const Event& event : history) {
      if (event.revision > at || event.collection != collection) continue;
      event.type == "DELETED" ? void(state.erase(event.key)) : void(state[event.key] = json::parse(event.object));
    }
    return state;
  }
};

FakeServer::FakeServer(Reactor& reactor) : state_(std::make_unique<State>(reactor)) {}
FakeServer::~FakeServer() = default;

void FakeServer::put(const std::string& collection, const std::string& ns, const std::string& name,
                     const std::string& data_json) {
  json* known = state_->find(collection, key_of(ns, name));
  if (known == nullptr) {
    state_->create(collection, ns, name, json::parse(data_json));
    return;
  }
  json object = *known;
  object.merge_patch(json::parse(data_json));
  state_->store(collection, key_of(ns, name), std::move(object), false);
}

bool FakeServer::erase(const std::string& collection, const std::string& ns, const std::string& name) {
  if (state_->find(collection, key_of(ns, name)) == nullptr) return false;
  state_->remove(collection, key_of(ns, name));
  return true;
}

std::map<std::string, std::string> FakeServer::snapshot(const std::string& collection) const {
  std::map<std::string, std::string> out;
  for (const auto& [key, object] : state_->objects[collection]) {
    out[key] =
        object["metadata"]["uid"].get<std::string>() + "@" + object["metadata"]["resourceVersion"].get<std::string>();
  }
  return out;
}

std::string FakeServer::get(const std::string& collection, const std::string& ns, const std::string& name) const {
  json* object = state_->find(collection, key_of(ns, name));
  return object == nullptr ? "" : object->dump();
}

uint64_t FakeServer::revision() const {
  return state_->revision;
}

void FakeServer::compact() {
  state_->compacted = state_->revision;
}

namespace {

void serve_list(FakeServer::State& state, const Target& target, ServerExchange& exchange) {
  uint64_t at = state.revision;
  std::string after;
  if (auto token = target.query.find("continue"); token != target.query.end()) {
    auto colon = token->second.find(':');
    at = std::stoull(token->second.substr(0, colon));
    after = token->second.substr(colon + 1);
    if (at < state.compacted) {
      exchange.respond(status_answer(410, "Expired", "The provided continue parameter is too old"));
      return;
    }
  }
  size_t limit = target.query.count("limit") ? std::stoul(target.query.at("limit")) : SIZE_MAX;
  json list = {{"kind", "List"}, {"apiVersion", "v1"}, {"items", json::array()}};
  list["metadata"]["resourceVersion"] = std::to_string(at);
  std::string last;
  for (auto& [key, object] : state.state_at(target.collection, at)) {
    if (key <= after || (!target.ns.empty() && key.rfind(target.ns + "/", 0) != 0)) continue;
    if (list["items"].size() == limit) {
      list["metadata"]["continue"] = std::to_string(at) + ":" + last;
      break;
    }
    list["items"].push_back(object);
    last = key;
  }
  Response response;
  response.status = 200;
  response.body = list.dump();
  exchange.respond(std::move(response));
}

std::string bookmark_line(uint64_t revision, bool end) {
  json object = {{"kind", "X"}, {"metadata", {{"resourceVersion", std::to_string(revision)}}}};
  if (end) object["metadata"]["annotations"]["k8s.io/initial-events-end"] = "true";
  return json{{"type", "BOOKMARK"}, {"object", object}}.dump() + "\n";
}

void schedule_bookmark(FakeServer::State& state, uint64_t id, Duration interval) {
  state.watches.at(id).bookmark_timer = state.reactor.after(interval, [&state, id, interval] {
    auto it = state.watches.find(id);
    if (it == state.watches.end()) return;
    it->second.exchange->write(bookmark_line(state.revision, false));
    schedule_bookmark(state, id, interval);
  });
}

void serve_watch(FakeServer::State& state, const Target& target, std::shared_ptr<ServerExchange> exchange,
                 bool watch_list, Duration bookmark_interval) {
  auto value = [&](const char* key) { return target.query.count(key) ? target.query.at(key) : std::string(); };
  bool initial = value("sendInitialEvents") == "true";
  if (initial && !watch_list) {
    exchange->respond(status_answer(422, "Invalid", "sendInitialEvents is forbidden for watch", "sendInitialEvents"));
    return;
  }
  uint64_t from = value("resourceVersion").empty() ? 0 : std::stoull(value("resourceVersion"));
  if (initial && from > state.revision) {
    exchange->respond(status_answer(504, "Timeout", "Too large resource version: 9, current: 1"));
    return;
  }
  Response head;
  head.status = 200;
  exchange->open(head);
  if (!initial && from < state.compacted) {
    exchange->write("{\"type\":\"ERROR\",\"object\":" + status_answer(410, "Expired", "too old resource version").body +
                    "}\n");
    exchange->end();
    return;
  }
  uint64_t id = ++state.watch_ids;
  Watch& watch = state.watches[id];
  watch = Watch{target.collection, target.ns, value("allowWatchBookmarks") == "true", exchange, {}, {}};
  if (initial) {
    for (auto& [key, object] : state.objects[target.collection]) {
      state.send(watch, {0, target.collection, key, "ADDED", object.dump()});
    }
    exchange->write(bookmark_line(state.revision, true));
  } else {
    for (const Event& event : state.history) {
      if (event.revision > from && event.collection == target.collection) state.send(watch, event);
    }
  }
  if (watch.bookmarks) schedule_bookmark(state, id, bookmark_interval);
  watch.end_timer = state.reactor.after(std::chrono::seconds(std::stoi(value("timeoutSeconds"))), [&state, id] {
    auto it = state.watches.find(id);
    if (it == state.watches.end()) return;
    auto ended = it->second.exchange;
    state.watches.erase(it);
    ended->end();
  });
  exchange->on_gone([&state, id] { state.watches.erase(id); });
}

// The answer if a precondition in `meta` does not match the object.
std::optional<Response> precondition(const json& meta, const json& object) {
  auto uid = meta.find("uid");
  if (uid != meta.end() && *uid != object["metadata"]["uid"]) {
    return status_answer(422, "Invalid", "metadata.uid: Invalid value: field is immutable", "metadata.uid");
  }
  auto version = meta.find("resourceVersion");
  if (version != meta.end() && *version != object["metadata"]["resourceVersion"]) {
    return status_answer(409, "Conflict",
                         "the object has been modified; please apply your changes to the latest version");
  }
  return std::nullopt;
}

Response object_answer(int status, const json& object) {
  Response response;
  response.status = status;
  response.body = object.dump();
  return response;
}

Response serve_write(FakeServer::State& state, const Request& request, const Target& target) {
  std::string name = target.name;
  json body = request.body.empty() ? json::object() : json::parse(request.body);
  if (request.method == "POST" && name.empty()) {
    name = body["metadata"]["name"];
    if (state.find(target.collection, key_of(target.ns, name)) != nullptr) {
      return status_answer(409, "AlreadyExists", "\"" + name + "\" already exists");
    }
    return object_answer(201, state.create(target.collection, target.ns, name, std::move(body)));
  }
  std::string key = key_of(target.ns, name);
  json* known = state.find(target.collection, key);
  bool apply = request.content_type == "application/apply-patch+yaml";
  if (known == nullptr) {
    if (!apply) return status_answer(404, "NotFound", "\"" + name + "\" not found");
    return object_answer(201, state.create(target.collection, target.ns, name, std::move(body)));
  }
  json meta = body.contains("metadata") ? body["metadata"] : json::object();
  if (request.method == "DELETE") {
    json conditions = body.contains("preconditions") ? body["preconditions"] : json::object();
    if (conditions.contains("uid") && conditions["uid"] != (*known)["metadata"]["uid"]) {
      return status_answer(409, "Conflict", "Precondition failed: UID in precondition");
    }
    if (auto refused = precondition(conditions, *known)) return *refused;
    json object = *known;
    object["metadata"]["deletionTimestamp"] = format_rfc3339(state.reactor.clock().wall_now());
    if (!state.finished(object)) return object_answer(200, state.store(target.collection, key, object, false));
    return object_answer(200, state.remove(target.collection, key));
  }
  if (auto refused = precondition(meta, *known)) return *refused;
  json object = *known;
  if (request.method == "PUT") {
    body["metadata"]["uid"] = object["metadata"]["uid"];
    object = std::move(body);
  } else {
    object.merge_patch(body);
  }
  object["metadata"]["resourceVersion"] = (*known)["metadata"]["resourceVersion"];
  if (object == *known) return object_answer(200, object);
  if (state.finished(object)) {
    state.objects[target.collection][key] = object;
    return object_answer(200, state.remove(target.collection, key));
  }
  return object_answer(200, state.store(target.collection, key, std::move(object), false));
}

}  // namespace

void FakeServer::handle(const Request& request, const std::string&, std::shared_ptr<ServerExchange> exchange) {
  if (on_request) on_request(request);
  Target target = parse_target(request.target);
  if (request.method != "GET") {
    exchange->respond(serve_write(*state_, request, target));
    return;
  }
  if (!target.name.empty()) {
    json* object = state_->find(target.collection, key_of(target.ns, target.name));
    exchange->respond(object ? object_answer(200, *object)
                             : status_answer(404, "NotFound", "\"" + target.name + "\" not found"));
    return;
  }
  if (target.query.count("watch")) {
    serve_watch(*state_, target, std::move(exchange), watch_list, bookmark_interval);
  } else {
    serve_list(*state_, target, *exchange);
  }
}

}  // namespace dra::client::testing
