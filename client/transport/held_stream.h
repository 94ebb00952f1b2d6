// HeldStream: delivers the messages and the end of one stream, and keeps those that come while the reader holds it up. For
// transports that receive without reading: what it keeps is bounded only by what is sent.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "client/transport/transport.h"

namespace dra::client {

class HeldStream : public std::enable_shared_from_this<HeldStream> {
 public:
  explicit HeldStream(StreamCallbacks callbacks) : callbacks_(std::move(callbacks)) {}

  void open(const Response& head) {
    if (callbacks_.on_open) callbacks_.on_open(head);
  }
  void message(std::string text) {
    messages_.push_back(std::move(text));
    deliver();
  }
  void end(Result<Response> result) {
    end_ = std::move(result);
    deliver();
  }
  // No callback runs from now on. They are destroyed with this object: one of them may be running.
  void drop() { dropped_ = true; }

 private:
  void deliver();

  StreamCallbacks callbacks_;
  std::deque<std::string> messages_;
  std::optional<Result<Response>> end_;
  bool held_ = false;
  bool delivering_ = false;
  bool dropped_ = false;
};

}  // namespace dra::client
