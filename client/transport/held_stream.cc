#include "client/transport/held_stream.h"

#include <utility>

namespace dra::client {

void HeldStream::deliver() {
  if (delivering_) return;
  const auto self = shared_from_this();  // a callback may drop the stream
  const Hold hold = [this] {
    held_ = true;
    return [weak = weak_from_this()] {
      const auto stream = weak.lock();
      if (!stream) return;
      stream->held_ = false;
      stream->deliver();
    };
  };
  delivering_ = true;
  while (!held_ && !dropped_ && !messages_.empty()) {
    std::string next = std::move(messages_.front());
    messages_.pop_front();
    if (callbacks_.on_line) callbacks_.on_line(std::move(next), hold);
  }
  delivering_ = false;
  if (held_ || dropped_ || !end_) return;
  dropped_ = true;
  if (callbacks_.on_end) callbacks_.on_end(std::move(*end_));
}

}  // namespace dra::client
