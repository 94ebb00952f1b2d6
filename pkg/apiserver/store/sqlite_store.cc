#include "pkg/apiserver/store/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace dra::apiserver {

struct SqliteStore::Impl {
  std::string path;
  sqlite3* db = nullptr;
  sqlite3_stmt* put = nullptr;
  sqlite3_stmt* del = nullptr;
  sqlite3_stmt* rev = nullptr;

  ~Impl() {
    sqlite3_finalize(put);
    sqlite3_finalize(del);
    sqlite3_finalize(rev);
    sqlite3_close(db);
  }

  Unexpected failure(const char* what) const {
    return fail(Code::kUnavailable, std::string("cannot ") + what + " " + path + ": " +
                                        (db != nullptr ? sqlite3_errmsg(db) : "out of memory"));
  }

  Result<void> execute(const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure("use");
    return {};
  }

  // A write that fails on disk must not be answered as done.
  void must(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
      throw std::runtime_error("cannot write " + path + ": " + sqlite3_errmsg(db));
    }
  }

  void begin() {
    if (sqlite3_get_autocommit(db) == 0) sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);  // after a failure
    must(sqlite3_exec(db, "BEGIN", nullptr, nullptr, nullptr));
  }

  void set_revision(uint64_t revision) {
    sqlite3_reset(rev);
    must(sqlite3_bind_int64(rev, 1, static_cast<sqlite3_int64>(revision)));
    must(sqlite3_step(rev));
    sqlite3_reset(rev);
  }
};

namespace {

void bind_text(sqlite3_stmt* s, int at, const std::string& text) {
  sqlite3_bind_text(s, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

// A document is one line of text; its raw texts, if any, are a second line.
std::string text_with_raw_texts(const StoredObject& object) {
  if (object.raw_texts().empty()) return object.text();
  return object.text() + "\n" + Json(object.raw_texts()).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool split_raw_texts(std::string& text, RawTexts& out) {
  const size_t line_end = text.find('\n');
  if (line_end == std::string::npos) return true;
  const Json second = Json::parse(std::string_view(text).substr(line_end + 1), nullptr, false);
  if (!second.is_object()) return false;
  for (const auto& [pointer, raw] : second.items()) {
    if (!raw.is_string() || !pointer.starts_with("/")) return false;
    out.emplace(pointer, raw.get<std::string>());
  }
  text.resize(line_end);
  return true;
}

std::string column_text(sqlite3_stmt* s, int at) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(s, at));
  return {text == nullptr ? "" : text, static_cast<size_t>(sqlite3_column_bytes(s, at))};
}

Result<void> load_objects(sqlite3* db, const std::string& path, Store& store) {
  sqlite3_stmt* s = nullptr;
  auto damaged = [&](const std::string& what) {
    sqlite3_finalize(s);
    return fail(Code::kInvalidArgument, path + " is damaged: " + what + "; move it away to start empty");
  };
  if (sqlite3_prepare_v2(db, "SELECT tab, key, revision, doc FROM objects", -1, &s, nullptr) != SQLITE_OK) {
    return damaged(sqlite3_errmsg(db));
  }
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    const std::string key = column_text(s, 1);
    std::string text = column_text(s, 3);
    RawTexts raw_texts;
    if (!split_raw_texts(text, raw_texts)) return damaged("object " + key);
    const Json document = Json::parse(text, nullptr, false);
    if (!document.is_object() || !document.value("metadata", Json()).is_object()) return damaged("object " + key);
    const auto revision = static_cast<uint64_t>(sqlite3_column_int64(s, 2));
    store.restore(column_text(s, 0), key,
                  std::make_shared<const StoredObject>(revision, std::move(text), std::move(raw_texts)));
  }
  if (code != SQLITE_DONE) return damaged(sqlite3_errmsg(db));
  sqlite3_finalize(s);
  if (sqlite3_prepare_v2(db, "SELECT revision FROM state", -1, &s, nullptr) != SQLITE_OK)
    return damaged(sqlite3_errmsg(db));
  if (sqlite3_step(s) == SQLITE_ROW) store.restore_revision(static_cast<uint64_t>(sqlite3_column_int64(s, 0)));
  sqlite3_finalize(s);
  return {};
}

// Creates the file, or checks the existing one: a regular file of ours, readable by the owner alone (it has tokens and
// secrets), with no other hard link. Files that SQLite puts beside it inherit the mode.
Result<void> own_file(const std::string& path) {
  auto wrong = [&](const std::string& what) {
    return fail(Code::kInvalidArgument, "cannot keep objects in " + path + ": " + what);
  };
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return wrong(errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
  struct stat is {};
  const bool known = ::fstat(fd, &is) == 0;
  const bool ours = known && S_ISREG(is.st_mode) && is.st_uid == ::geteuid() && is.st_nlink == 1;
  const bool closed = ours && ((is.st_mode & 077) == 0 || ::fchmod(fd, 0600) == 0);
  ::close(fd);
  if (!ours) return wrong("it is not a plain file of this user with one name");
  if (!closed) return wrong("its mode lets others in and cannot be changed");
  return {};
}

}  // namespace

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& directory, Store& store) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(Code::kInvalidArgument, "cannot create " + directory + ": " + std::strerror(errno));
  }
  auto impl = std::make_unique<Impl>();
  impl->path = directory + "/objects.db";
  if (auto ok = own_file(impl->path); !ok) return fail(ok.error());
  if (sqlite3_open(impl->path.c_str(), &impl->db) != SQLITE_OK) return impl->failure("open");
  for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
                          "CREATE TABLE IF NOT EXISTS objects (tab TEXT, key TEXT, revision INTEGER, doc TEXT, "
                          "PRIMARY KEY (tab, key)) WITHOUT ROWID",
                          "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY, revision INTEGER)"}) {
    if (auto ok = impl->execute(sql); !ok) return fail(ok.error());
  }
  if (auto loaded = load_objects(impl->db, impl->path, store); !loaded) return fail(loaded.error());
  auto prepare = [&](const char* sql, sqlite3_stmt** out) {
    return sqlite3_prepare_v2(impl->db, sql, -1, out, nullptr) == SQLITE_OK;
  };
  if (!prepare("INSERT OR REPLACE INTO objects (tab, key, revision, doc) VALUES (?1, ?2, ?3, ?4)", &impl->put) ||
      !prepare("DELETE FROM objects WHERE tab = ?1 AND key = ?2", &impl->del) ||
      !prepare("INSERT OR REPLACE INTO state (id, revision) VALUES (1, ?1)", &impl->rev)) {
    return impl->failure("use");
  }
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

void SqliteStore::save(const std::string& table, const std::string& key, const StoredObject& object) {
  impl_->begin();
  bind_text(impl_->put, 1, table);
  bind_text(impl_->put, 2, key);
  sqlite3_bind_int64(impl_->put, 3, static_cast<sqlite3_int64>(object.revision()));
  const std::string stored_text = text_with_raw_texts(object);
  bind_text(impl_->put, 4, stored_text);
  const int code = sqlite3_step(impl_->put);
  sqlite3_reset(impl_->put);
  impl_->must(code);
  impl_->set_revision(object.revision());
  impl_->must(sqlite3_exec(impl_->db, "COMMIT", nullptr, nullptr, nullptr));
}

void SqliteStore::erase(const std::string& table, const std::string& key, uint64_t revision) {
  impl_->begin();
  bind_text(impl_->del, 1, table);
  bind_text(impl_->del, 2, key);
  const int code = sqlite3_step(impl_->del);
  sqlite3_reset(impl_->del);
  impl_->must(code);
  impl_->set_revision(revision);
  impl_->must(sqlite3_exec(impl_->db, "COMMIT", nullptr, nullptr, nullptr));
}

}  // namespace dra::apiserver
