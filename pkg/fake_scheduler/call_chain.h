// CallChain: requests of a stand-in component, sent one after the other. The first refused request ends the chain.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/transport/transport.h"

namespace dra::fake_scheduler {

struct ChainedCall {
  std::string method;
  std::string target;
  std::string body;
  std::string content_type = "application/merge-patch+json";
  // A status that counts as success besides 2xx (404 for a deletion).
  int also_fine = 0;
};

class CallChain : public std::enable_shared_from_this<CallChain> {
 public:
  // `refusal`: status and body of the refused call, or the error if there was no answer. Runs from a later task.
  using Done = std::function<void(bool ok, const std::string& refusal)>;
  // Called with each answer; may add calls.
  using Answered = std::function<void(CallChain& chain, const client::Response&)>;

  static std::shared_ptr<CallChain> run(Reactor& reactor, client::Transport& transport, std::vector<ChainedCall> calls,
                                        Done done, Answered answered = nullptr);
  void add(ChainedCall call) { calls_.push_back(std::move(call)); }
  void cancel();

 private:
  CallChain(Reactor& reactor, client::Transport& transport) : reactor_(reactor), transport_(transport) {}
  void next();

  Reactor& reactor_;
  client::Transport& transport_;
  std::vector<ChainedCall> calls_;
  size_t at_ = 0;
  bool cancelled_ = false;
  Handle call_;
  Done done_;
  Answered answered_;
};

}  // namespace dra::fake_scheduler
