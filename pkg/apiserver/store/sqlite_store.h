// Persistence of a Store in one SQLite file: every write is one transaction in a write-ahead log.
//
// Changes of an answered write survive a crash of the process; after a power failure the last second may be missing
// (synchronous=NORMAL). Only one process may use a file at a time.
#pragma once

#include <memory>
#include <string>

#include "pkg/apiserver/store/store.h"
#include "pkg/base/error.h"

namespace dra::apiserver {

class SqliteStore : public StorePersistence {
 public:
  // Opens or creates `directory`/objects.db and fills the store from it. Errors name the file and what is wrong.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory, Store& store);
  ~SqliteStore() override;

  void save(const std::string& table, const std::string& key, const StoredObject& object) override;
  void erase(const std::string& table, const std::string& key, uint64_t revision) override;

 private:
  struct Impl;
  explicit SqliteStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::apiserver
