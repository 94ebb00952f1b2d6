// The terminal of the screen: keys one by one, the other page of the terminal, and everything as it was afterwards -
// when it is destroyed, and when a signal or a crash ends the program.
#pragma once

#include <memory>
#include <string>

#include "pkg/base/error.h"
#include "pkg/screen/screen.h"

namespace dra::kubectl {

// One at a time; used by one thread.
class Terminal {
 public:
  // Whether standard input and output are a terminal that can show a screen.
  static bool can_show();
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Heard {
    std::string bytes;     // that were typed
    bool closed = false;   // the terminal is gone
    bool resized = false;  // also after the program was stopped and goes on
    bool ended = false;    // by a signal
    bool news = false;     // wake() was called
  };
  // Waits for one of these, at most `limit_ms` (-1: without a limit).
  Heard wait(int limit_ms);
  // Makes wait() return. From any thread.
  void wake();
  // Gives the terminal back; also what the destructor does.
  void restore();
  // False: the terminal is gone.
  bool write(const std::string& bytes);
  screen::Size size() const;
  // Stops the program, as Ctrl-Z does, with the terminal as it was; returns when it goes on.
  void suspend();

 private:
  Terminal() = default;
};

}  // namespace dra::kubectl
