// PageServer: the page of `kubectl dra web`, on a loopback port.
//
//   auto server = PageServer::start(reactor, options, feed, ask);
//   print(server->address());        // http://127.0.0.1:PORT/
//
// Paths: the files of the page (open to whoever reaches the port: they are the same for everybody); GET /api/stream,
// the lines of the feed, then each change; POST /api/ask, {"verb", "words", "namespace", "document"}, the answer of a
// verb as with -o json. /api needs the key (gate.h). POST /api/key gives it for a ticket:
// the ticket is what an address carries, and it works once, so that it is worth nothing in a browser's history. Answers
// are made on a worker, one at a time, from the objects of the feed; at most kMaxWaiting wait. Without a request and
// without a reader for `idle_limit`, on_idle is called. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/http/server.h"
#include "pkg/reactor/asio_reactor.h"
#include "pkg/web/feed.h"

namespace dra::web {

inline constexpr size_t kMaxReaders = 16;
inline constexpr size_t kMaxWaiting = 16;
inline constexpr size_t kMaxQuestion = size_t{1} << 20;  // bytes

struct Question {
  std::string verb;                // "explain", "who", "whatif", "fits", "history"
  std::vector<std::string> words;  // "pod/train-0"
  std::string ns;
  std::string document;  // of fits: the manifest
};

// Called on the reactor's thread; what it returns makes the answer, in JSON, on a worker thread, one at a time.
using Job = std::function<Result<std::string>()>;
using Answerer = std::function<Job(const Question&)>;

struct PageOptions {
  uint16_t port = 0;  // 0: any free port
  // The first ticket; each that is used is replaced by another.
  std::string ticket;
  std::function<void(const std::string& next)> on_ticket_used;
  Duration idle_limit = std::chrono::minutes(30);
  std::function<void()> on_idle;
};

class PageServer {
 public:
  // Errors: the port is not free.
  static Result<std::unique_ptr<PageServer>> start(AsioReactor& reactor, PageOptions options, Feed& feed,
                                                   Answerer answerer);
  virtual ~PageServer() = default;
  virtual uint16_t port() const = 0;
};

}  // namespace dra::web
