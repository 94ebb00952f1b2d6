#include "pkg/inspect/source/snapshot.h"

#include <zlib.h>

#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/source/archive.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/source/object_list.h"
#include "pkg/inspect/source/prune.h"
#include "pkg/inspect/source/redact.h"
#include "pkg/inspect/state/volumes.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "kubectl-dra snapshot";
constexpr int kGzip = 15 + 16;  // zlib: the largest window, gzip framing

// Unpacks piece by piece and returns whole lines, so that memory has at most one line besides the packed bytes.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    if (inflateInit2(&stream_, kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacker() { inflateEnd(&stream_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // The next line without its newline; nullopt at the end.
  Result<std::optional<std::string_view>> line() {
    pending_.erase(0, taken_);
    taken_ = 0;
    size_t from = 0;
    for (;;) {
      const size_t end = pending_.find('\n', from);
      if (end != std::string::npos) {
        taken_ = end + 1;
        return std::string_view(pending_).substr(0, end);
      }
      if (ended_) {
        if (pending_.empty()) return std::optional<std::string_view>();
        return fail(Code::kInvalidArgument, "it is cut off in the middle of a line");
      }
      if (pending_.size() > kMaxSnapshotLine)
        return fail(Code::kResourceExhausted, "a line is longer than " + std::to_string(kMaxSnapshotLine) + " bytes");
      from = pending_.size();
      if (auto more = unpack(); !more) return fail(more.error());
    }
  }

 private:
  Result<void> unpack() {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const size_t made = buffer_.size() - stream_.avail_out;
    pending_.append(buffer_, 0, made);
    total_ += made;
    if (total_ > kMaxSnapshotText)
      return fail(Code::kResourceExhausted, "it unpacks to more than " + std::to_string(kMaxSnapshotText) + " bytes");
    if (status == Z_STREAM_END) {
      ended_ = true;
      return {};
    }
    if (status == Z_OK && (made > 0 || stream_.avail_in > 0)) return {};
    if (status == Z_BUF_ERROR || status == Z_OK)
      return fail(Code::kInvalidArgument, "it is cut off: the compressed data ends early");
    return fail(Code::kInvalidArgument,
                total_ == 0 ? "it is not a snapshot: not compressed by gzip; make one with: kubectl dra snapshot FILE"
                            : "its compressed data is damaged");
  }

  z_stream stream_{};
  std::string buffer_ = std::string(size_t{1} << 20, '\0');
  std::string pending_;
  size_t taken_ = 0;
  size_t total_ = 0;
  bool ended_ = false;
};

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json to_json(const std::vector<Hidden>& hidden) {
  json all = json::array();
  for (const Hidden& entry : hidden) all.push_back({{"what", entry.what}, {"why", entry.why}});
  return all;
}

std::vector<Hidden> hidden_of(const json& header, const char* key) {
  std::vector<Hidden> all;
  if (const auto hidden = header.find(key); hidden != header.end() && hidden->is_array())
    for (const json& one : *hidden)
      if (one.is_object()) all.push_back({text_of(one, "what"), text_of(one, "why")});
  return all;
}

// "pods outside namespace ml" contains a namespace's name, and a server's message anything.
std::vector<Hidden> redacted(std::vector<Hidden> hidden, const Redactor& redactor) {
  constexpr std::string_view kWords = " outside namespace ";
  for (Hidden& entry : hidden) {
    if (entry.why != kMayNotList) entry.why = kLeftOut;
    const size_t at = entry.what.find(kWords);
    if (at == std::string::npos) continue;
    const auto other = redactor.renamed(Word::kNamespace, entry.what.substr(at + kWords.size()));
    entry.what = entry.what.substr(0, at) + (other ? std::string(kWords) + *other : " outside one namespace");
  }
  return hidden;
}

std::string header_line(const Objects& objects, bool is_redacted, const Redactor& redactor) {
  const json header{
      {"format", kFormat},
      {"version", kSnapshotVersion},
      {"taken", format_rfc3339(objects.taken)},
      {"server", is_redacted ? "" : objects.origin},
      {"serverVersion", objects.server_version},
      {"draVersions", objects.dra_versions},
      {"taintRulesServed", objects.taint_rules_served},
      {"taintRuleVersion", objects.taint_rules_served ? objects.taint_rule_version : ""},
      {"redacted", is_redacted},
      {"hidden", to_json(is_redacted ? redacted(objects.hidden, redactor) : objects.hidden)},
      {"managerHidden", objects.managers.why_hidden.empty() ? ""
                        : is_redacted                       ? std::string(kLeftOut)
                                                            : objects.managers.why_hidden},
      {"quotasRead", objects.quotas.asked},
      {"hiddenQuotas", to_json(is_redacted ? redacted(objects.quotas.hidden, redactor) : objects.quotas.hidden)},
      {"evictionsRead", objects.evictions.asked},
      {"hiddenEvictions",
       to_json(is_redacted ? redacted(objects.evictions.hidden, redactor) : objects.evictions.hidden)},
      {"storageRead", objects.storage_read && !is_redacted},
      {"hiddenStorage", is_redacted ? json::array() : to_json(objects.hidden_storage)}};
  return header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Objects> read_header(std::string_view line, const std::string& name) {
  const json header = json::parse(line, nullptr, false);
  if (!header.is_object() || text_of(header, "format") != kFormat)
    return fail(Code::kInvalidArgument,
                "it is not a snapshot of kubectl-dra; make one with: kubectl dra snapshot FILE");
  const auto version = header.find("version");
  if (version == header.end() || !version->is_number_integer() || *version != kSnapshotVersion)
    return fail(Code::kUnsupported, "its version is " +
                                        (version == header.end() ? "missing" : version->dump().substr(0, 40)) +
                                        ", this program reads version " + std::to_string(kSnapshotVersion));
  Objects objects;
  if (!parse_rfc3339(text_of(header, "taken"), objects.taken))
    return fail(Code::kInvalidArgument, "\"taken\" of its header is not a time");
  objects.origin = name;
  objects.server_version = text_of(header, "serverVersion");
  const auto flag = [&](const char* key) {
    const auto found = header.find(key);
    return found != header.end() && found->is_boolean() && found->get<bool>();
  };
  objects.taint_rules_served = flag("taintRulesServed");
  if (std::string found = text_of(header, "taintRuleVersion"); !found.empty())
    objects.taint_rule_version = std::move(found);
  objects.redacted = flag("redacted");
  if (const auto versions = header.find("draVersions"); versions != header.end() && versions->is_array())
    for (const json& one : *versions)
      if (one.is_string()) objects.dra_versions.push_back(one.get<std::string>());
  objects.hidden = hidden_of(header, "hidden");
  objects.managers.why_hidden = text_of(header, "managerHidden");
  objects.quotas.asked = flag("quotasRead");
  objects.quotas.hidden = hidden_of(header, "hiddenQuotas");
  objects.evictions.asked = flag("evictionsRead");
  objects.evictions.hidden = hidden_of(header, "hiddenEvictions");
  objects.storage_read = flag("storageRead");
  objects.hidden_storage = hidden_of(header, "hiddenStorage");
  return objects;
}

Result<Objects> read_lines(std::string_view bytes, const std::string& name, const OnPage& on_page) {
  Unpacker unpacker(bytes);
  auto first = unpacker.line();
  if (!first) return fail(first.error());
  if (!*first) return fail(Code::kInvalidArgument, "it is empty");
  auto objects = read_header(**first, name);
  if (!objects) return objects;
  for (size_t number = 2;; ++number) {
    auto line = unpacker.line();
    if (!line) return fail(line.error());
    if (!*line) return objects;
    const size_t tab = (*line)->find('\t');
    if (tab == std::string_view::npos)
      return fail(Code::kInvalidArgument, "line " + std::to_string(number) + " names no kind");
    auto page = add_page(*objects, (*line)->substr(0, std::min<size_t>(tab, 64)), (*line)->substr(tab + 1));
    if (!page) return fail(page.error().wrap("line " + std::to_string(number)));
    if (on_page)
      if (auto seen = on_page((*line)->substr(0, tab), (*line)->substr(tab + 1)); !seen) return fail(seen.error());
  }
}

}  // namespace

struct SnapshotWriter::State {
  explicit State(Redaction redaction) : redact(redaction != Redaction::kNone), redactor(redaction) {}
  bool redact;
  Redactor redactor;
  std::vector<std::pair<std::string, json>> pages;
};

SnapshotWriter::SnapshotWriter(Redaction redaction) : state_(std::make_unique<State>(redaction)) {}
SnapshotWriter::~SnapshotWriter() = default;

Result<void> SnapshotWriter::add(std::string_view plural, std::string_view page) {
  if (state_->redact && is_of_storage(plural)) return {};  // handles, addresses and names of disks
  json list = json::parse(page, nullptr, false);
  const auto items = list.is_object() ? list.find("items") : list.end();
  if (!list.is_object() || items == list.end() || !(items->is_array() || items->is_null()))
    return fail(Code::kInvalidArgument, "the list of " + std::string(plural) + " cannot be read");
  if (items->is_null()) *items = json::array();
  for (json& item : *items) prune(plural, item);
  if (state_->redact)
    for (const json& item : *items) state_->redactor.learn(plural, item);
  state_->pages.emplace_back(plural, json{{"items", std::move(*items)}});
  return {};
}

std::string SnapshotWriter::bytes(const Objects& objects) {
  if (state_->redact) state_->redactor.settle();
  std::string text = header_line(objects, state_->redact || objects.redacted, state_->redactor);
  for (auto& [plural, page] : state_->pages) {
    if (state_->redact)
      for (json& item : page["items"]) state_->redactor.apply(plural, item);
    text += plural + "\t" + page.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  return gzip(text);
}

const Redactor& SnapshotWriter::redactor() const {
  return state_->redactor;
}

Result<void> SnapshotWriter::write(const Objects& objects, const std::string& path) {
  return write_file(path, bytes(objects));
}

Result<Objects> read_snapshot_bytes(std::string_view bytes, const std::string& name, const OnPage& on_page) {
  if (!bytes.empty() && !is_gzip(bytes)) return read_object_list(bytes, name, on_page);
  auto objects = read_lines(bytes, name, on_page);
  if (!objects) return fail(objects.error().wrap("snapshot " + quote(name)));
  return objects;
}

Result<Objects> read_snapshot(const std::string& path, const OnPage& on_page) {
  auto bytes = read_file(path, kMaxSnapshotFile);
  if (!bytes) return fail(bytes.error());
  return read_snapshot_bytes(*bytes, path, on_page);
}

}  // namespace dra::inspect
