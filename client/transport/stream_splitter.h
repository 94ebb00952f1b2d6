// StreamSplitter: takes chunks of a streamed body, returns messages: lines, or the frames of Kubernetes' protobuf
// watches (four bytes of length, most significant first, then the message). Pure; one per stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/transport/line_splitter.h"

namespace dra::client {

// Whether a stream of this Content-Type consists of frames.
inline bool comes_in_frames(std::string_view content_type) {
  return content_type.starts_with("application/vnd.kubernetes.protobuf");
}

class FrameSplitter {
 public:
  explicit FrameSplitter(size_t max_frame) : max_frame_(max_frame) {}

  // Calls f(message) for each complete frame; f may return false to stop early (the rest is dropped). Returns false if
  // a frame's length exceeds the bound; feed nothing after that.
  template <class F>
  bool feed(std::string_view bytes, F&& f) {
    if (!rest_.empty()) {
      // Take no more than this frame needs, so that later frames are not copied.
      if (!complete(bytes, kLengthBytes)) return true;
      const size_t size = length(rest_);
      if (size > max_frame_) return false;
      if (!complete(bytes, kLengthBytes + size)) return true;
      const std::string frame = std::move(rest_);
      rest_.clear();
      if (!f(std::string_view(frame).substr(kLengthBytes))) return true;
    }
    while (bytes.size() >= kLengthBytes) {
      const size_t size = length(bytes);
      if (size > max_frame_) return false;
      if (bytes.size() - kLengthBytes < size) break;
      if (!f(bytes.substr(kLengthBytes, size))) return true;
      bytes.remove_prefix(kLengthBytes + size);
    }
    rest_ = bytes;
    return true;
  }

  // The beginning of a truncated frame, with its length.
  std::string_view rest() const { return rest_; }

 private:
  static constexpr size_t kLengthBytes = 4;
  static constexpr size_t kMostReserved = 2 << 20;  // a length that is claimed may be that of no message

  static size_t length(std::string_view bytes) {
    size_t size = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
    return size;
  }

  // Moves bytes to rest_ until it contains `size` bytes.
  bool complete(std::string_view& bytes, size_t size) {
    const size_t missing = size > rest_.size() ? size - rest_.size() : 0;
    if (size > rest_.capacity()) rest_.reserve(size < kMostReserved ? size : kMostReserved);
    rest_.append(bytes.substr(0, missing));
    bytes.remove_prefix(missing < bytes.size() ? missing : bytes.size());
    return rest_.size() >= size;
  }

  size_t max_frame_;
  std::string rest_;
};

class StreamSplitter {
 public:
  explicit StreamSplitter(size_t max_message) : lines_(max_message), frames_(max_message) {}

  // `content_type` is the stream's; pass the same one each time.
  template <class F>
  bool feed(std::string_view content_type, std::string_view bytes, F&& f) {
    return comes_in_frames(content_type) ? frames_.feed(bytes, f) : lines_.feed(bytes, f);
  }

  // What is left at the end of the stream: a last line without its newline, or an incomplete frame.
  std::string_view rest() const { return lines_.rest().empty() ? frames_.rest() : lines_.rest(); }

 private:
  LineSplitter lines_;
  FrameSplitter frames_;
};

}  // namespace dra::client
