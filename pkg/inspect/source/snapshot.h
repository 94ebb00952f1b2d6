// Snapshots: everything a decision needs, in one compressed file.
//
//   SnapshotWriter writer(header);
//   writer.add("pods", page_json);            // pages of lists, as a server sent them
//   Result<void> written = writer.write("cluster.dra");
//   Result<Objects> objects = read_snapshot("cluster.dra");
//
// The file is gzip over lines. The first line is a JSON object with "format": "kubectl-dra snapshot" and "version": 1;
// every other line is the plural of a kind, a tab, and a page of a list of it as JSON. A reader refuses other versions
// and formats, and files beyond the bounds below, with one sentence. A snapshot leaves out what no decision reads: the
// spec of pods except what placement reads (so no environment, no arguments), and annotations except this project's and
// those of resource.k8s.io.
//
// redact.h says what redaction takes out; decisions stay the same. A redacted snapshot has no storage kinds and no
// address of the server. Pure except for the files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pkg/base/error.h"
#include "pkg/inspect/source/redact.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

inline constexpr int kSnapshotVersion = 1;
inline constexpr size_t kMaxSnapshotFile = size_t{512} << 20;  // bytes on disk
inline constexpr size_t kMaxSnapshotText = size_t{4} << 30;    // bytes unpacked
inline constexpr size_t kMaxSnapshotLine = size_t{512} << 20;  // for one page

class SnapshotWriter {
 public:
  explicit SnapshotWriter(Redaction redaction = Redaction::kNone);
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // An error says why the page cannot be read.
  Result<void> add(std::string_view plural, std::string_view page);
  // The bytes of the file. `objects` says when and from where it was read, and what is hidden.
  std::string bytes(const Objects& objects);
  // Writes the file atomically (a temporary file beside it, then a rename), readable by its owner alone.
  Result<void> write(const Objects& objects, const std::string& path);
  // What bytes() has replaced; call after it.
  const Redactor& redactor() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// `name` is for messages and becomes the origin. Bytes that are not gzip are read as a list of objects (object_list.h).
// `on_page` gets each page of a list that was added, by its kind; an error of it ends the reading.
Result<Objects> read_snapshot_bytes(std::string_view bytes, const std::string& name, const OnPage& on_page = nullptr);
Result<Objects> read_snapshot(const std::string& path, const OnPage& on_page = nullptr);

}  // namespace dra::inspect
