#include "pkg/web/feed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dra::web {
namespace {

// Quotas, storage and leases answer questions; pages do not show them.
bool is_shown(std::string_view plural) {
  static const std::set<std::string, std::less<>> kShown{"namespaces",       "nodes",
                                                         "deviceclasses",    "resourceslices",
                                                         "devicetaintrules", "resourceclaimtemplates",
                                                         "resourceclaims",   "pods",
                                                         "podgroups",        "podgroups.scheduling.x-k8s.io"};
  return kShown.contains(plural);
}

}  // namespace

Feed::Reader::Reader(Feed& feed, std::function<void()> wake) : feed_(feed), wake_(std::move(wake)) {
  feed_.readers_.insert(this);
  if (feed_.header_) lines_.push_back(feed_.header_);
  for (const auto& [plural, lines] : feed_.lines_)
    if (is_shown(plural))
      for (const auto& [key, line] : lines) lines_.push_back(line);
  lines_.push_back(std::make_shared<const std::string>("."));
}

Feed::Reader::~Reader() {
  feed_.readers_.erase(this);
}

std::string Feed::Reader::take(size_t most) {
  std::string text;
  while (!lines_.empty() && (text.empty() || text.size() + lines_.front()->size() < most)) {
    text += *lines_.front();
    text += '\n';
    lines_.pop_front();
  }
  return text;
}

void Feed::Reader::add(const Line& line) {
  if (cut_off_) return;
  lines_.push_back(line);
  if (lines_.size() > kMaxUntaken) {
    cut_off_ = true;
    lines_.clear();
  }
  wake_();
}

void Feed::set_header(const std::string& json) {
  if (header_ && *header_ == json) return;
  header_ = std::make_shared<const std::string>(json);
  for (Reader* reader : std::vector<Reader*>(readers_.begin(), readers_.end())) reader->add(header_);
}

void Feed::tell(std::string_view plural, const Line& line) {
  ++version_;
  if (!is_shown(plural)) return;
  // A reader may leave while it is told.
  for (Reader* reader : std::vector<Reader*>(readers_.begin(), readers_.end()))
    if (readers_.contains(reader)) reader->add(line);
}

void Feed::put(std::string_view plural, const std::string& key, Line line) {
  auto& lines = lines_.try_emplace(std::string(plural)).first->second;
  Line& kept = lines[key];
  kept = std::move(line);
  tell(plural, kept);
}

void Feed::remove(std::string_view plural, const std::string& key) {
  const auto lines = lines_.find(plural);
  if (lines == lines_.end()) return;
  const auto gone = lines->second.find(key);
  if (gone == lines->second.end()) return;
  lines->second.erase(gone);
  tell(plural, std::make_shared<const std::string>(
                   "-" + std::string(plural) + "\t" +
                   nlohmann::json(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

std::vector<Feed::Named> Feed::all() const {
  std::vector<Named> found;
  for (const auto& [plural, lines] : lines_)
    for (const auto& [key, line] : lines) found.emplace_back(plural, line);
  return found;
}

std::unique_ptr<Feed::Reader> Feed::subscribe(std::function<void()> wake) {
  return std::make_unique<Reader>(*this, std::move(wake));
}

std::string line_of(std::string_view plural, std::string_view object_json) {
  return std::string(plural) + "\t{\"items\":[" + std::string(object_json) + "]}";
}

std::string_view page_in(std::string_view line) {
  return line.substr(std::min(line.size(), line.find('\t') + 1));
}

}  // namespace dra::web
