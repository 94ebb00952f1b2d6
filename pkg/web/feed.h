// Feed: the objects of a cluster as lines, and their changes, for any number of readers.
//
//   Feed feed;
//   feed.put("pods", "ml/train-0", std::make_shared<const std::string>(line_of("pods", object_json)));
//   auto reader = feed.subscribe([] { ... });          // called when there is more to take
//   std::string text = reader->take(256 * 1024);
//
// A line is that of a snapshot: a header in JSON; "KIND<tab>{"items": [...]}" for objects that are new or changed; and
// "-KIND<tab>"KEY"" for one that is gone. A reader first gets the header, all objects of the kinds that pages show and
// the line ".", then each change. Lines are shared: a reader costs a pointer for each line that it has not taken. A
// reader with more than kMaxUntaken lines to take is cut off. Belongs to the reactor's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dra::web {

inline constexpr size_t kMaxUntaken = 1'000'000;

class Feed {
 public:
  using Line = std::shared_ptr<const std::string>;

  class Reader {
   public:
    Reader(Feed& feed, std::function<void()> wake);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    // The next lines, each with its newline: at least one line, then at most so many bytes. Empty: nothing for now.
    std::string take(size_t most);
    bool cut_off() const { return cut_off_; }

   private:
    friend class Feed;
    void add(const Line& line);
    Feed& feed_;
    std::function<void()> wake_;
    std::deque<Line> lines_;
    bool cut_off_ = false;
  };

  // The same header again is not sent.
  void set_header(const std::string& json);
  void put(std::string_view plural, const std::string& key, Line line);
  void remove(std::string_view plural, const std::string& key);
  // All objects of the kind, for what follows from them.
  using Named = std::pair<std::string, Line>;  // the kind, as inspect::add_page() has it
  std::vector<Named> all() const;
  // Grows with every change of an object.
  uint64_t version() const { return version_; }
  std::unique_ptr<Reader> subscribe(std::function<void()> wake);

 private:
  void tell(std::string_view plural, const Line& line);

  Line header_;
  std::map<std::string, std::map<std::string, Line>, std::less<>> lines_;
  std::set<Reader*> readers_;
  uint64_t version_ = 0;
};

// The line of one object.
std::string line_of(std::string_view plural, std::string_view object_json);
// The page of a list that a line carries.
std::string_view page_in(std::string_view line);

}  // namespace dra::web
