#include "pkg/apiserver/rest/list.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/rest/continue_token.h"

namespace dra::apiserver {

namespace {

constexpr size_t kLarge = size_t{256} << 10;  // a collection in bytes

// The objects of a list and what its metadata says of the others.
struct Page {
  std::vector<StoredPtr> items;
  uint64_t revision = 0;
  std::string next;  // continue token
  std::optional<size_t> remaining;
};

class PageReader {
 public:
  PageReader(const CallPtr& call, const ListOptions& options)
      : call_(call), options_(options), selecting_(options.selects()) {
    const bool ignore_limit = options.resource_version == "0" && options.match.empty();
    if (options.limit > 0 && !ignore_limit) limit_ = static_cast<size_t>(options.limit);
  }

  // The objects in scope; nothing is selected yet.
  StatusOr<void> read(const Env& env) {
    page_.revision = env.store.revision();
    std::string start;
    std::optional<Store::Objects> snapshot;
    if (auto ok = find_state(env, start, snapshot); !ok) return ok;
    for_each_in_scope(*call_, snapshot ? *snapshot : env.store.objects(call_->table()),
                      [&](const std::string& key, const StoredPtr& object) {
                        if (key < start) return true;
                        if (!selecting_) return take(key, object);
                        scope_.emplace_back(key, object);
                        return true;
                      });
    return {};
  }

  // Selects some of them; false: all is selected.
  bool select() {
    for (size_t work = 0; at_ < scope_.size(); ++at_) {
      auto& [key, object] = scope_[at_];
      if (work > kPortionBytes) return true;
      work += options_.work_of_matching(*object);
      const bool more = !list_matches(*call_, options_, key, *object) || take(key, object);
      object.reset();
      if (!more) break;
    }
    scope_.clear();
    return false;
  }

  Page take_page() {
    if (beyond_ > 0) {
      page_.next = encode_continue({static_cast<int64_t>(page_.revision), last_ + std::string(1, '\0')});
      if (!selecting_) page_.remaining = beyond_;
    }
    return std::move(page_);
  }

 private:
  StatusOr<void> find_state(const Env& env, std::string& start, std::optional<Store::Objects>& snapshot) {
    if (options_.continue_token.empty()) {
      if (options_.match != "Exact") return {};
      page_.revision = options_.revision;
      snapshot = env.store.objects_at(call_->table(), options_.revision);
      if (!snapshot) return fail_status(gone("The resourceVersion for the provided list is too old."));
      return {};
    }
    if (!options_.resource_version.empty() && options_.resource_version != "0") {
      return fail_status(bad_request("specifying resource version is not allowed when using continue"));
    }
    auto token = decode_continue(options_.continue_token);
    if (!token) return fail_status(bad_request("invalid continue token: " + token.error().message()));
    start = token->start;
    if (token->revision <= 0) return {};
    page_.revision = static_cast<uint64_t>(token->revision);
    snapshot = env.store.objects_at(call_->table(), page_.revision);
    if (snapshot) return {};
    Status s = gone(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
        "the results. Continuing with the provided token results in an inconsistent list - objects that were "
        "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
        "list.");
    s.continue_token = encode_continue({-1, start});
    return fail_status(s);
  }

  // False: the rest makes no difference.
  bool take(const std::string& key, const StoredPtr& object) {
    if (page_.items.size() < limit_) {
      page_.items.push_back(object);
      last_ = key;
      return true;
    }
    ++beyond_;
    return !selecting_;
  }

  CallPtr call_;
  ListOptions options_;
  bool selecting_;
  size_t limit_ = SIZE_MAX;
  std::vector<std::pair<std::string, StoredPtr>> scope_;  // if selecting
  size_t at_ = 0;
  Page page_;
  size_t beyond_ = 0;
  std::string last_;
};

Json list_metadata(const Page& page) {
  Json meta = {{"resourceVersion", std::to_string(page.revision)}};
  if (!page.next.empty()) meta["continue"] = page.next;
  if (page.remaining) meta["remainingItemCount"] = *page.remaining;
  return meta;
}

// A page in the form that its call asks for.
class PageWriter {
 public:
  PageWriter(const Env& env, CallPtr call, Page page) : env_(env), call_(std::move(call)), page_(std::move(page)) {}

  // False: it could not be, and the answer says why.
  bool begin() {
    const OutputForm& form = call_->form;
    partial_ = form.shape == OutputShape::kPartialObjectMetadata;
    if (partial_ && !form.partial_list) {
      send_status(*call_, not_acceptable("you requested PartialObjectMetadata, but the requested object is a list (*" +
                                         call_->kind->info().internal_type() + "List)"));
      return false;
    }
    const Json metadata = list_metadata(page_);
    if (form.shape == OutputShape::kTable) {
      auto table = make_table(env_, table_request(true), {});
      if (!table) {
        send_status(*call_, table.error());
        return false;
      }
      (*table)["metadata"] = metadata;
      text_ = compact_text(*table);
      text_.resize(text_.size() - std::string_view("]}").size());  // of "rows", the last member
      return true;
    }
    item_kind_ = partial_ ? "PartialObjectMetadata" : call_->kind->info().kind;
    api_version_ = partial_ ? "meta.k8s.io/" + form.shape_version : call_->gv().text();
    if (form.protobuf) type_ = find_message_type(api_version_, item_kind_);
    if (type_ != nullptr) {
      protobuf_.emplace(metadata);
    } else {
      call_->form.protobuf = false;
      text_ = R"({"kind":")" + item_kind_ + R"(List","apiVersion":")" + api_version_ + R"(","metadata":)" +
              compact_text(metadata) + R"(,"items":[)";
    }
    return true;
  }

  // Encodes some of the objects; false: the answer is sent.
  bool write() {
    const size_t begin = size();
    for (; at_ < page_.items.size(); ++at_) {
      if (size() - begin > kPortionBytes) return true;
      add(page_.items[at_]);
      page_.items[at_].reset();
    }
    send();
    return false;
  }

 private:
  size_t size() const { return protobuf_ ? protobuf_->message().size() : text_.size(); }

  TableRequest table_request(bool with_columns) const {
    return {*call_->kind, call_->gv(), call_->form.shape_version, call_->query.get("includeObject"), with_columns};
  }

  void add(const StoredPtr& object) {
    const auto partial = [&] { return partial_object(object->document()->at("metadata"), call_->form.shape_version); };
    if (protobuf_) {
      protobuf_->add(*type_, partial_ ? partial() : object_document(*call_->kind, call_->gv(), *object));
      return;
    }
    if (at_ > 0) text_ += ',';
    if (call_->form.shape == OutputShape::kTable) {
      text_ += compact_text((*make_table(env_, table_request(false), {object}))["rows"][0]);
    } else {
      text_ += partial_ ? compact_text(partial()) : object_text(*call_->kind, call_->gv(), *object, false);
    }
  }

  void send() {
    if (protobuf_) {
      return send_protobuf(*call_, 200, protobuf_envelope(api_version_, item_kind_ + "List", protobuf_->message()));
    }
    text_ += "]}";
    // In upstream an empty metadata-only list has no array at all.
    if (partial_ && page_.items.empty()) text_.replace(text_.size() - 3, 2, "null");
    send_json(*call_, 200, std::move(text_));
  }

  Env env_;
  CallPtr call_;
  Page page_;
  bool partial_ = false;
  std::string item_kind_;
  std::string api_version_;
  const ObjectType* type_ = nullptr;
  std::optional<ProtobufList> protobuf_;
  std::string text_;  // otherwise
  size_t at_ = 0;
};

// Reads, selects and encodes a list.
class ListAnswer {
 public:
  ListAnswer(const Env& env, CallPtr call, const ListOptions& options)
      : env_(env), call_(std::move(call)), reader_(call_, options) {}

  bool begin() {
    auto ok = reader_.read(env_);
    if (!ok) send_status(*call_, ok.error());
    return ok.has_value();
  }
  bool go_on() {
    if (writer_) return writer_->write();
    if (reader_.select()) return true;
    writer_.emplace(env_, call_, reader_.take_page());
    return writer_->begin();
  }

 private:
  Env env_;
  CallPtr call_;
  PageReader reader_;
  std::optional<PageWriter> writer_;
};

// Of the collection, whatever is selected. An earlier state of it may be larger than what is stored now.
bool is_large(const Env& env, const Call& call, const ListOptions& options) {
  if (!options.continue_token.empty() || options.match == "Exact") return true;
  size_t bytes = 0;
  for_each_in_scope(call, env.store.objects(call.table()), [&](const std::string&, const StoredPtr& object) {
    bytes += object->text().size();
    return bytes <= kLarge;
  });
  return bytes > kLarge;
}

}  // namespace

void answer_list(const Env& env, const CallPtr& call, const ListOptions& options) {
  const auto begin = [env, call, options]() -> std::function<bool()> {
    const auto answer = std::make_shared<ListAnswer>(env, call, options);
    if (!answer->begin()) return nullptr;
    return [answer] { return answer->go_on(); };
  };
  if (is_large(env, *call, options)) return run_alone_in_turns(env, call, begin);
  if (auto step = begin()) run_in_turns(call, std::move(step));
}

std::function<bool()> steps_to_answer(const Env& env, const CallPtr& call, std::vector<StoredPtr> objects,
                                      uint64_t revision) {
  Page page;
  page.items = std::move(objects);
  page.revision = revision;
  const auto writer = std::make_shared<PageWriter>(env, call, std::move(page));
  if (!writer->begin()) return [] { return false; };
  return [writer] { return writer->write(); };
}

}  // namespace dra::apiserver
