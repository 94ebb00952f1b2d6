#include "client/transport/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "client/transport/curl_transfer.h"
#include "client/transport/target.h"
#include "pkg/base/check.h"
#include "pkg/base/fair_line.h"
#include "pkg/base/strings.h"
#include "pkg/log/log.h"

namespace dra::client {

using curl_internal::Transfer;

// The requests of a transport, or its streams.
//
// States of a call: waiting (for its turn) -> authorising (for credentials) -> in flight -> finished. The map owns it;
// the user's Handle contains its number.
class CurlTransport::Impl : public std::enable_shared_from_this<CurlTransport::Impl> {
 public:
  Impl(Reactor& reactor, ServerConfig config, CurlOptions options);
  ~Impl();

  uint64_t add(std::shared_ptr<Transfer> transfer);
  void cancel(uint64_t id);
  std::shared_ptr<Transfer> make(Request request) {
    return std::make_shared<Transfer>(++next_id_, std::move(request), options_.max_body_bytes);
  }

  size_t in_flight() const { return in_flight_; }
  size_t waiting() const { return waiting_.size(); }
  uint64_t connections() const { return connections_; }

 private:
  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*);
  static int on_timer(CURLM*, long ms, void* self);

  void start_expiry(const std::shared_ptr<Transfer>& transfer);
  void start_waiting();
  void take_place(Transfer& transfer);
  void leave_place(Transfer& transfer);
  void authorise(const std::shared_ptr<Transfer>& transfer);
  void put_on_wire(const std::shared_ptr<Transfer>& transfer);
  void take_off_wire(Transfer& transfer);
  void action(curl_socket_t fd, int flags);
  // Whether something of this connection is still to be delivered. Then nothing more is read from it.
  bool is_behind(curl_socket_t fd) const;
  void collect();
  void deliver();
  void deliver_all();
  void deliver_later();
  void deliver_streams(MonoTime until);
  // False: time ended first, and some lines are left.
  bool deliver_lines(const std::shared_ptr<Transfer>& transfer, MonoTime until);
  void read_no_more(Transfer& transfer);
  void read_on(uint64_t id);
  void over(const std::shared_ptr<Transfer>& transfer, CURLcode code);
  void finish(const std::shared_ptr<Transfer>& transfer, Result<Response> result);
  void expire(uint64_t id);
  // libcurl 7.88 loses the end of an HTTP/2 answer whose last frame does not fit its buffer, until anything else
  // arrives on the connection (nghttp2 was paused, and is not called again). If an answer stalls, a small request makes
  // something arrive.
  void look_for_stalls();
  void nudge();
  size_t cap() const { return http1_ ? options_.max_in_flight_http1 : options_.max_in_flight; }
  // At most a few places are kept free for calls of other namespaces.
  size_t cap_of_group() const { return cap() - std::min<size_t>(cap() / 4, 4); }

  Reactor& reactor_;
  ServerConfig config_;
  CurlOptions options_;
  curl_internal::Origin origin_;
  CURLM* multi_ = nullptr;
  uint64_t next_id_ = 0;
  std::map<uint64_t, std::shared_ptr<Transfer>> transfers_;
  std::map<uint64_t, std::shared_ptr<Transfer>> open_streams_;  // the streamed ones among transfers_
  FairLine<> waiting_;                                          // ids, by namespace
  std::map<std::string, size_t> in_flight_of_;
  std::vector<CURL*> idle_;  // handles of finished requests
  struct Watch {
    Handle handle;
    uint64_t id = 0;  // of the call that the connection serves; of one of them with HTTP/2
  };
  std::map<curl_socket_t, Watch> watches_;
  Handle timer_;
  // Transfers that libcurl reported as finished, and those with lines; processed outside libcurl.
  std::deque<std::pair<std::shared_ptr<Transfer>, CURLcode>> finished_;
  Handle stall_timer_;
  bool looking_for_stalls_ = false;
  bool nudging_ = false;
  size_t in_flight_ = 0;
  size_t streams_ = 0;
  uint64_t connections_ = 0;
  bool http1_ = false;
  bool delivering_ = false;
  bool deliver_posted_ = false;  // something is left, and a task that delivers it is under way
  uint64_t last_served_ = 0;     // the stream that got the latest turn
  bool starting_ = false;
};

namespace {

// An answer in progress that receives nothing for this long is checked.
constexpr Duration kStallCheck = std::chrono::milliseconds(50);
// The minimum pause between nudges, for an answer that is slow by itself.
constexpr Duration kNudgePause = std::chrono::milliseconds(500);
constexpr Duration kNudgeTimeout = std::chrono::seconds(5);
// How long messages of streams, and then answers, are delivered in one task. What is left waits for the next task, and
// meanwhile nothing more is read from the stream's connection, or from that of the answers, so that what waits stays
// bounded. Other streams are read: an event must not wait until another stream is delivered to its end.
constexpr Duration kDeliverTime = std::chrono::milliseconds(4);

void init_curl_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

// Sets the flag for its lifetime, also if a callback throws.
struct Flag {
  explicit Flag(bool& f) : flag(f) { flag = true; }
  ~Flag() { flag = false; }
  bool& flag;
};

class CallHandle : public Handle::Impl {
 public:
  CallHandle(std::weak_ptr<CurlTransport::Impl> transport, uint64_t id) : transport_(std::move(transport)), id_(id) {}
  ~CallHandle() override {
    if (auto transport = transport_.lock()) transport->cancel(id_);
  }

 private:
  std::weak_ptr<CurlTransport::Impl> transport_;
  uint64_t id_;
};

}  // namespace

CurlTransport::Impl::Impl(Reactor& reactor, ServerConfig config, CurlOptions options)
    : reactor_(reactor), config_(std::move(config)), options_(std::move(options)) {
  init_curl_once();
  multi_ = curl_multi_init();
  DRA_CHECK(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Impl::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Impl::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  // All requests this transport ever has in flight fit one HTTP/2 connection, if the server permits.
  curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, static_cast<long>(options_.max_in_flight + 8));
  // Idle connections beyond it are closed.
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.max_in_flight_http1 + 8));
}

CurlTransport::Impl::~Impl() {
  for (auto& [id, transfer] : transfers_) {
    transfer->timer.cancel();
    if (transfer->easy != nullptr) {
      curl_multi_remove_handle(multi_, transfer->easy);
      curl_easy_cleanup(transfer->easy);
    }
  }
  for (CURL* easy : idle_) curl_easy_cleanup(easy);
  curl_multi_cleanup(multi_);
  watches_.clear();
}

void CurlTransport::Impl::start_expiry(const std::shared_ptr<Transfer>& transfer) {
  Duration limit = transfer->request.timeout > Duration::zero() ? transfer->request.timeout : options_.default_timeout;
  transfer->timer = reactor_.after(limit, [weak = weak_from_this(), id = transfer->id] {
    if (auto self = weak.lock()) self->expire(id);
  });
}

uint64_t CurlTransport::Impl::add(std::shared_ptr<Transfer> transfer) {
  uint64_t id = transfer->id;
  std::weak_ptr<Impl> weak = weak_from_this();
  start_expiry(transfer);
  bool full = transfer->streamed ? streams_ >= options_.max_streams : waiting_.size() >= options_.max_waiting;
  transfers_[id] = transfer;
  if (transfer->streamed) open_streams_[id] = transfer;
  const std::string problem = target_problem(transfer->request.target);
  if (full || !problem.empty()) {
    const std::string what = transfer->request.method + " " + quote(transfer->request.target);
    Error refused = problem.empty()
                        ? Error(Code::kResourceExhausted, what + ": too many calls are waiting for the API server")
                        : Error(Code::kInvalidArgument, what + ": not sent: there is " + problem + " in the path");
    reactor_.post([weak, transfer, refused = std::move(refused)] {
      auto self = weak.lock();
      if (self && self->transfers_.count(transfer->id) > 0) self->finish(transfer, fail(refused));
    });
    return id;
  }
  // In a separate task, so that no callback runs inside send().
  if (transfer->streamed) {
    ++streams_;
    transfer->counted = true;
    reactor_.post([weak, transfer] {
      auto self = weak.lock();
      if (self && self->transfers_.count(transfer->id) > 0) self->authorise(transfer);
    });
  } else {
    transfer->group = target_namespace(transfer->request.target);
    waiting_.push(std::to_string(id), {.group = transfer->group});
    reactor_.post([weak] {
      if (auto self = weak.lock()) self->start_waiting();
    });
  }
  return id;
}

void CurlTransport::Impl::start_waiting() {
  // A call that fails at once frees a slot for the next: iterates instead of recursing.
  if (starting_) return;
  Flag starting(starting_);
  while (waiting_.ready() && in_flight_ < cap()) {
    const auto it = transfers_.find(std::stoull(waiting_.pop()->key));
    if (it == transfers_.end()) continue;
    auto transfer = it->second;
    take_place(*transfer);
    authorise(transfer);
  }
}

void CurlTransport::Impl::take_place(Transfer& transfer) {
  ++in_flight_;
  transfer.counted = true;
  if (++in_flight_of_[transfer.group] >= cap_of_group()) waiting_.block(transfer.group);
}

void CurlTransport::Impl::leave_place(Transfer& transfer) {
  if (!transfer.counted) return;
  if (transfer.streamed) {
    --streams_;
    return;
  }
  --in_flight_;
  const auto of = in_flight_of_.find(transfer.group);
  if (--of->second < cap_of_group()) waiting_.unblock(transfer.group);
  if (of->second == 0) in_flight_of_.erase(of);
}

void CurlTransport::Impl::authorise(const std::shared_ptr<Transfer>& transfer) {
  if (!config_.credentials) {
    put_on_wire(transfer);
    return;
  }
  std::weak_ptr<Impl> weak = weak_from_this();
  config_.credentials->get([weak, transfer](Result<Credential> credential) {
    auto self = weak.lock();
    if (!self || self->transfers_.count(transfer->id) == 0) return;
    if (!credential) {
      self->finish(transfer, fail(credential.error()));
      return;
    }
    if (transfer->tried_again && transfer->credential == *credential) {
      // There is no new credential to try: return the 401.
      self->finish(transfer, transfer->response);
      return;
    }
    if (transfer->tried_again) transfer->rewind();
    transfer->credential = std::move(*credential);
    transfer->had_credential = true;
    self->put_on_wire(transfer);
  });
}

void CurlTransport::Impl::put_on_wire(const std::shared_ptr<Transfer>& transfer) {
  CURL* easy = nullptr;
  if (!transfer->streamed && !idle_.empty()) {
    easy = idle_.back();
    idle_.pop_back();
  } else {
    easy = curl_easy_init();
    DRA_CHECK(easy != nullptr);
    Transfer::prepare(easy, transfer->streamed, config_, options_);
  }
  transfer->configure(easy, config_, options_, origin_);
  // May call on_timer; the transfer itself begins in a later task.
  curl_multi_add_handle(multi_, easy);
  if (!transfer->streamed && !looking_for_stalls_) look_for_stalls();
}

void CurlTransport::Impl::take_off_wire(Transfer& transfer) {
  if (transfer.easy == nullptr) return;
  long opened = 0;
  if (curl_easy_getinfo(transfer.easy, CURLINFO_NUM_CONNECTS, &opened) == CURLE_OK && opened > 0) {
    connections_ += static_cast<uint64_t>(opened);
  }
  curl_multi_remove_handle(multi_, transfer.easy);
  CURL* easy = std::exchange(transfer.easy, nullptr);
  if (transfer.streamed || idle_.size() >= options_.max_in_flight) return curl_easy_cleanup(easy);
  Transfer::forget(easy);
  idle_.push_back(easy);
}

int CurlTransport::Impl::on_socket(CURL* easy, curl_socket_t fd, int what, void* pointer, void*) {
  auto* self = static_cast<Impl*>(pointer);
  // Drop the old watch first: a descriptor can be registered only once.
  self->watches_.erase(fd);
  if (what == CURL_POLL_REMOVE) return 0;
  Reactor::FdReady interest{(what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0};
  char* transfer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  Watch& watch = self->watches_[fd];
  watch.id = transfer != nullptr ? reinterpret_cast<const Transfer*>(transfer)->id : 0;
  watch.handle = self->reactor_.watch_fd(fd, interest, [self, fd](Reactor::FdReady ready) {
    self->action(fd, (ready.read ? CURL_CSELECT_IN : 0) | (ready.write ? CURL_CSELECT_OUT : 0));
  });
  return 0;
}

int CurlTransport::Impl::on_timer(CURLM*, long ms, void* pointer) {
  auto* self = static_cast<Impl*>(pointer);
  self->timer_.cancel();
  if (ms >= 0) {
    self->timer_ =
        self->reactor_.after(std::chrono::milliseconds(ms), [self] { self->action(CURL_SOCKET_TIMEOUT, 0); });
  }
  return 0;
}

void CurlTransport::Impl::action(curl_socket_t fd, int flags) {
  // The descriptor stays readable, so this is called again after the task that delivers.
  if (deliver_posted_ && flags == CURL_CSELECT_IN && is_behind(fd)) return;
  auto keep = shared_from_this();
  int running = 0;
  curl_multi_socket_action(multi_, fd, flags, &running);
  collect();
  deliver();
}

bool CurlTransport::Impl::is_behind(curl_socket_t fd) const {
  const auto watch = watches_.find(fd);
  const auto stream = watch == watches_.end() ? open_streams_.end() : open_streams_.find(watch->second.id);
  return stream == open_streams_.end() || !stream->second->lines.empty();
}

// Takes libcurl's messages about finished transfers.
void CurlTransport::Impl::collect() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode code = message->data.result;
    char* pointer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &pointer);
    auto* transfer = reinterpret_cast<Transfer*>(pointer);
    long version = 0;
    curl_easy_getinfo(message->easy_handle, CURLINFO_HTTP_VERSION, &version);
    if (version != 0) http1_ = version < CURL_HTTP_VERSION_2_0;
    auto it = transfers_.find(transfer->id);
    DRA_CHECK(it != transfers_.end());
    finished_.emplace_back(it->second, code);
  }
}

void CurlTransport::Impl::deliver() {
  if (delivering_) return;
  {
    Flag delivering(delivering_);
    deliver_all();
  }
  start_waiting();
}

void CurlTransport::Impl::deliver_all() {
  const auto now = [this] { return reactor_.clock().mono_now(); };
  deliver_streams(now() + kDeliverTime);
  const MonoTime until = now() + kDeliverTime;
  // The end of a stream comes after its lines.
  std::deque<std::pair<std::shared_ptr<Transfer>, CURLcode>> later;
  for (bool first = true; !finished_.empty() && (first || now() < until); first = false) {
    auto next = std::move(finished_.front());
    finished_.pop_front();
    if (transfers_.count(next.first->id) == 0) continue;
    if (next.first->lines.empty())
      over(next.first, next.second);
    else
      later.push_back(std::move(next));
  }
  finished_.insert(finished_.begin(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
  const bool left = !finished_.empty() || std::any_of(open_streams_.begin(), open_streams_.end(),
                                                      [](const auto& one) { return !one.second->lines.empty(); });
  if (left) deliver_later();
}

void CurlTransport::Impl::deliver_later() {
  if (std::exchange(deliver_posted_, true)) return;
  reactor_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->deliver_posted_ = false;
    self->deliver();
  });
}

// In turns, beginning after the stream that had the latest one. Callbacks may change the map.
void CurlTransport::Impl::deliver_streams(MonoTime until) {
  std::vector<std::shared_ptr<Transfer>> with_news;
  for (auto& [id, transfer] : open_streams_) {
    if ((!transfer->lines.empty() || (transfer->head_is_success() && !transfer->open_reported))) {
      with_news.push_back(transfer);
    }
  }
  const auto next = std::find_if(with_news.begin(), with_news.end(),
                                 [this](const auto& transfer) { return transfer->id > last_served_; });
  std::rotate(with_news.begin(), next, with_news.end());
  for (auto& transfer : with_news) {
    last_served_ = transfer->id;
    if (!deliver_lines(transfer, until)) return;
  }
}

bool CurlTransport::Impl::deliver_lines(const std::shared_ptr<Transfer>& transfer, MonoTime until) {
  auto alive = [&] { return transfers_.count(transfer->id) > 0; };
  if (!alive()) return true;
  if (!transfer->open_reported && transfer->head_is_success()) {
    transfer->open_reported = true;
    transfer->timer.cancel();
    if (transfer->callbacks.on_open) transfer->callbacks.on_open(transfer->response);
  }
  const Hold hold = [this, one = transfer.get()] {
    read_no_more(*one);
    return [weak = weak_from_this(), id = one->id] {
      if (const auto self = weak.lock()) self->read_on(id);
    };
  };
  while (!transfer->lines.empty()) {
    if (!alive()) return true;
    std::string line = std::move(transfer->lines.front());
    transfer->lines.pop_front();
    if (transfer->callbacks.on_line) transfer->callbacks.on_line(std::move(line), hold);
    if (!transfer->lines.empty() && reactor_.clock().mono_now() >= until) return false;
  }
  return true;
}

void CurlTransport::Impl::read_no_more(Transfer& transfer) {
  if (transfer.easy != nullptr) curl_easy_pause(transfer.easy, CURLPAUSE_RECV);
}

void CurlTransport::Impl::read_on(uint64_t id) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end() || found->second->easy == nullptr) return;
  // libcurl may hand over what it has read already.
  curl_easy_pause(found->second->easy, CURLPAUSE_CONT);
  deliver_later();
}

void CurlTransport::Impl::over(const std::shared_ptr<Transfer>& transfer, CURLcode code) {
  take_off_wire(*transfer);
  bool unauthorised = code == CURLE_OK && transfer->response.status == 401;
  if (unauthorised && transfer->had_credential && !transfer->tried_again) {
    transfer->tried_again = true;
    config_.credentials->rejected(transfer->credential);
    authorise(transfer);
    return;
  }
  if (transfer->streamed && code == CURLE_OK) {
    transfer->take_rest();
    deliver_lines(transfer, MonoTime::max());  // at most the last one, without its newline
    if (transfers_.count(transfer->id) == 0) return;
  }
  finish(transfer, transfer->result(code));
}

void CurlTransport::Impl::finish(const std::shared_ptr<Transfer>& transfer, Result<Response> result) {
  take_off_wire(*transfer);
  transfers_.erase(transfer->id);
  open_streams_.erase(transfer->id);
  transfer->timer.cancel();
  leave_place(*transfer);
  for (const std::string& warning : (result ? *result : transfer->response).warnings) {
    log::v(2, "Warning from the API server", {{"warning", warning}, {"target", transfer->request.target}});
  }
  if (transfer->streamed) {
    if (transfer->callbacks.on_end) transfer->callbacks.on_end(std::move(result));
  } else if (transfer->done) {
    transfer->done(std::move(result));
  }
  if (!delivering_) start_waiting();
}

void CurlTransport::Impl::look_for_stalls() {
  looking_for_stalls_ = true;
  stall_timer_ = reactor_.after(kStallCheck, [this] {
    looking_for_stalls_ = false;
    const MonoTime now = reactor_.clock().mono_now();
    bool stalled = false;
    for (auto& [id, transfer] : transfers_) {
      if (transfer->easy == nullptr || !transfer->head_complete) continue;
      if (transfer->arrived == transfer->arrived_before && now >= transfer->next_nudge && !nudging_) {
        transfer->next_nudge = now + kNudgePause;
        stalled = true;
      }
      transfer->arrived_before = transfer->arrived;
    }
    if (stalled && !http1_) nudge();
    if (in_flight_ > 0) look_for_stalls();
  });
}

// Neither the answer matters, nor whether the server knows the path.
void CurlTransport::Impl::nudge() {
  Request request;
  request.target = "/version";
  request.timeout = kNudgeTimeout;
  nudging_ = true;
  auto transfer = make(std::move(request));
  transfer->done = [this](const Result<Response>&) { nudging_ = false; };
  start_expiry(transfer);
  transfers_[transfer->id] = transfer;
  authorise(transfer);
}

void CurlTransport::Impl::expire(uint64_t id) {
  auto it = transfers_.find(id);
  if (it == transfers_.end()) return;
  auto keep = shared_from_this();
  auto transfer = it->second;
  std::string what = transfer->request.method + " " + transfer->request.target;
  finish(transfer, fail(Code::kDeadlineExceeded, what + ": no answer in time"));
}

void CurlTransport::Impl::cancel(uint64_t id) {
  auto it = transfers_.find(id);
  if (it == transfers_.end()) return;
  auto transfer = std::move(it->second);
  transfers_.erase(it);
  open_streams_.erase(id);
  transfer->timer.cancel();
  take_off_wire(*transfer);
  leave_place(*transfer);
  if (!waiting_.ready() || delivering_) return;
  reactor_.post([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->start_waiting();
  });
}

CurlTransport::CurlTransport(Reactor& reactor, ServerConfig config, CurlOptions options)
    : requests_(std::make_shared<Impl>(reactor, config, options)),
      streams_(std::make_shared<Impl>(reactor, std::move(config), std::move(options))) {}
CurlTransport::~CurlTransport() = default;

Handle CurlTransport::send(Request request, Done done) {
  auto transfer = requests_->make(std::move(request));
  transfer->done = std::move(done);
  return Handle(std::make_unique<CallHandle>(requests_, requests_->add(std::move(transfer))));
}

Handle CurlTransport::stream(Request request, StreamCallbacks callbacks) {
  auto transfer = streams_->make(std::move(request));
  transfer->streamed = true;
  transfer->callbacks = std::move(callbacks);
  return Handle(std::make_unique<CallHandle>(streams_, streams_->add(std::move(transfer))));
}

size_t CurlTransport::in_flight() const {
  return requests_->in_flight();
}

size_t CurlTransport::waiting() const {
  return requests_->waiting();
}

uint64_t CurlTransport::connections() const {
  return requests_->connections() + streams_->connections();
}

}  // namespace dra::client
