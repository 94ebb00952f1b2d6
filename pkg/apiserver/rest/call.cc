#include "pkg/apiserver/rest/call.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/model/guard.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/model/printable.h"
#include "pkg/apiserver/rest/large_requests.h"
#include "pkg/apiserver/rest/request.h"
#include "pkg/base/strings.h"
#include "pkg/yaml/yaml.h"

namespace dra::apiserver {

namespace {

// JSON is YAML too, and nobody reads so much: a list of hundreds of megabytes would take its server seconds to format.
constexpr size_t kLargestFormatted = size_t{4} << 20;

std::string dump_json(const Json& j, int indent) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool wants_pretty(const Call& call) {
  if (call.query.has("pretty")) return call.query.flag("pretty");
  const std::string_view agent = call.request.headers.get("User-Agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

http::Response response_head(Call& call, int code, std::string_view content_type) {
  http::Response r;
  r.status = code;
  r.headers.add("Content-Type", std::string(content_type));
  r.headers.add("Cache-Control", "no-cache, private");
  for (const auto& w : call.warnings) r.headers.add("Warning", "299 - " + quote(w));
  return r;
}

}  // namespace

void send_protobuf(Call& call, int code, std::string answer) {
  http::Response r = response_head(call, code, "application/vnd.kubernetes.protobuf");
  r.body = std::move(answer);
  call.responder->send(std::move(r));
}

void send_json(Call& call, int code, std::string text) {
  if (call.form.protobuf) {
    if (auto answer = encode_protobuf_answer(Json::parse(text))) return send_protobuf(call, code, std::move(*answer));
  }
  http::Response r = response_head(call, code, call.form.yaml ? "application/yaml" : "application/json");
  if (text.size() > kLargestFormatted) {
    text += '\n';
  } else if (call.form.yaml) {
    text = yaml::emit(Json::parse(text));
  } else if (wants_pretty(call)) {
    text = dump_json(Json::parse(text), 2);
  } else {
    text += '\n';
  }
  r.body = std::move(text);
  call.responder->send(std::move(r));
}

std::string Call::table() const {
  return table_of(kind->info());
}

std::string Call::key(std::string_view name) const {
  return kind->info().namespaced ? path.namespace_ + "/" + std::string(name) : std::string(name);
}

bool Call::dry_run() const {
  return query.get("dryRun") == "All";
}

std::string Call::manager() const {
  const std::string& given = query.get("fieldManager");
  if (!given.empty()) return given;
  return manager_of_user_agent(request.headers.get("User-Agent"));
}

void send_status(Call& call, const Status& status) {
  if (status.plain_text) {
    send_text(call, status.code, "text/plain; charset=utf-8", status.message);
    return;
  }
  const Json document = to_json(status);
  std::optional<std::string> protobuf;
  if (call.form.protobuf) protobuf = encode_protobuf_answer(document);
  http::Response r = response_head(call, status.code,
                                   protobuf         ? "application/vnd.kubernetes.protobuf"
                                   : call.form.yaml ? "application/yaml"
                                                    : "application/json");
  if (status.retry_after_seconds > 0) r.headers.add("Retry-After", std::to_string(status.retry_after_seconds));
  if (protobuf) {
    r.body = std::move(*protobuf);
  } else if (call.form.yaml) {
    r.body = yaml::emit(document);
  } else {
    r.body = wants_pretty(call) ? dump_json(document, 2) : dump_json(document, -1) + "\n";
  }
  call.responder->send(std::move(r));
}

void send_text(Call& call, int code, std::string_view content_type, std::string body) {
  http::Response r = response_head(call, code, content_type);
  r.body = std::move(body);
  call.responder->send(std::move(r));
}

void send_document(Call& call, int code, const Json& document) {
  if (call.form.protobuf) {
    if (auto answer = encode_protobuf_answer(document)) return send_protobuf(call, code, std::move(*answer));
  }
  send_json(call, code, dump_json(document, -1));
}

void send_object(const Env& env, Call& call, int code, const StoredPtr& object) {
  if (call.form.shape == OutputShape::kTable) {
    auto table = make_table(
        env, {*call.kind, call.gv(), call.form.shape_version, call.query.get("includeObject"), true}, {object});
    if (!table) {
      send_status(call, table.error());
    } else {
      send_document(call, code, *table);
    }
    return;
  }
  if (call.form.shape == OutputShape::kPartialObjectMetadata && call.form.partial_list) {
    send_status(call,
                not_acceptable("you requested PartialObjectMetadataList, but the requested object is not a list (*" +
                               call.kind->info().internal_type() + ")"));
    return;
  }
  if (call.form.shape == OutputShape::kPartialObjectMetadata) {
    send_document(call, code, partial_object(object->document()->at("metadata"), call.form.shape_version));
    return;
  }
  if (call.form.protobuf) return send_document(call, code, object_document(*call.kind, call.gv(), *object));
  send_json(call, code, object_text(*call.kind, call.gv(), *object, true));
}

void send_success(Call& call, int code, const Json& details) {
  Json s = {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Success"}};
  if (!details.is_null()) s["details"] = details;
  if (code == 201) s["code"] = 201;
  send_document(call, code, s);
}

namespace {

void go_on(const CallPtr& call, const std::shared_ptr<std::function<bool()>>& step) {
  for (bool more = true; more;) {
    if (!run_guarded("a request in portions", [&] { more = (*step)(); })) return send_status(*call, internal_error());
    if (more && call->responder->in_turn([call, step] { go_on(call, step); })) return;
  }
}

}  // namespace

void run_in_turns(const CallPtr& call, std::function<bool()> step) {
  go_on(call, std::make_shared<std::function<bool()>>(std::move(step)));
}

void run_alone_in_turns(const Env& env, const CallPtr& call, std::function<std::function<bool()>()> begin) {
  const bool enters = env.large_requests.enter(
      flow_of(call->request.target), [call, begin = std::move(begin)](const LargeRequests::Ticket& ticket) {
        if (auto step = begin()) run_in_turns(call, [ticket, step = std::move(step)] { return step(); });
      });
  if (!enters)
    send_status(*call,
                too_many_requests("too many lists and deletions of whole collections wait for namespace " +
                                  quote(flow_of(call->request.target)) + ", send fewer at a time and try again later"));
}

void convert_document(const Kind& kind, Json& document, const GroupVersion& from, const GroupVersion& to) {
  if (!(from == to)) kind.convert(document, from, to);
}

Json object_document(const Kind& kind, const GroupVersion& gv, const StoredObject& object) {
  Json document = *object.document();
  convert_document(kind, document, kind.info().hub, gv);
  document["apiVersion"] = gv.text();
  document["kind"] = kind.info().kind;
  return document;
}

std::string object_text(const Kind& kind, const GroupVersion& gv, const StoredObject& object, bool with_type) {
  std::string converted;
  const std::string* text = &object.text();
  if (!(gv == kind.info().hub)) {
    Json document = *object.document();
    convert_document(kind, document, kind.info().hub, gv);
    converted = document_text(document);
    text = &converted;
  }
  if (!with_type) return *text;
  std::string out = R"({"kind":")" + kind.info().kind + R"(","apiVersion":")" + gv.text() + R"(",)";
  out.append(*text, 1, std::string::npos);
  return out;
}

Json partial_object(const Json& metadata, std::string_view shape_version) {
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", "meta.k8s.io/" + std::string(shape_version)},
          {"metadata", metadata}};
}

StatusOr<void> check_include_object(const std::string& include) {
  if (include.empty() || include == "None" || include == "Metadata" || include == "Object") return {};
  return fail_status(bad_request("Unable to convert to Table as requested: includeObject: Invalid value: " +
                                 quote(include) + ": must be 'Metadata', 'Object', 'None', or empty"));
}

StatusOr<Json> make_table(const Env& env, const TableRequest& request, const std::vector<StoredPtr>& objects) {
  if (auto ok = check_include_object(request.include); !ok) return fail_status(ok.error());
  Json table = {{"kind", "Table"},
                {"apiVersion", "meta.k8s.io/" + request.shape_version},
                {"metadata", Json::object()},
                {"columnDefinitions", nullptr},
                {"rows", Json::array()}};
  if (request.with_columns) {
    Json columns = Json::array();
    for (const TableColumn& c : request.kind.columns()) {
      columns.push_back({{"name", c.name},
                         {"type", c.type},
                         {"format", c.format},
                         {"description", c.description},
                         {"priority", c.priority}});
    }
    table["columnDefinitions"] = std::move(columns);
  }
  const WallTime now = env.reactor.clock().wall_now();
  for (const StoredPtr& o : objects) {
    const auto document = o->document();
    Json row = {{"cells", request.kind.cells(*document, now)}};
    Json conditions = request.kind.row_conditions(*document);
    if (!conditions.is_null()) row["conditions"] = std::move(conditions);
    if (request.include == "Object") {
      row["object"] = object_document(request.kind, request.gv, *o);
    } else if (request.include != "None") {
      row["object"] = partial_object(request.kind.table_metadata(document->at("metadata")), request.shape_version);
    } else {
      row["object"] = nullptr;
    }
    table["rows"].push_back(std::move(row));
  }
  if (objects.size() == 1) table["metadata"]["resourceVersion"] = std::to_string(objects[0]->revision());
  return table;
}

}  // namespace dra::apiserver
