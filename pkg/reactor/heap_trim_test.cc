#include "pkg/reactor/heap_trim.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

#include "pkg/reactor/sim_reactor.h"

// Sanitizers replace malloc.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace dra {
namespace {

size_t resident_bytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// One block in every 64 stays allocated, so that the free blocks lie between blocks in use.
TEST(HeapTrim, WhatWasFreedBetweenBlocksInUseIsGivenBack) {
  ManualClock clock;
  SimReactor reactor(clock);
  HeapTrim trim(reactor);
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 64 * 1024; ++i) blocks.push_back(std::make_unique<char[]>(1000));
  const size_t most = resident_bytes();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (i % 64 != 0) blocks[i].reset();
  EXPECT_GT(resident_bytes(), most - (8U << 20));
  reactor.advance(std::chrono::seconds(2));
  EXPECT_LT(resident_bytes(), most - (40U << 20));
  EXPECT_FALSE(trim.look()) << "nothing was freed since";
}

TEST(HeapTrim, LittleIsGivenBackLater) {
  ManualClock clock;
  SimReactor reactor(clock);
  HeapTrim trim(reactor);
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 8 * 1024; ++i) blocks.push_back(std::make_unique<char[]>(1000));
  reactor.advance(std::chrono::seconds(2));
  const size_t most = resident_bytes();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (i % 64 != 0) blocks[i].reset();
  reactor.advance(std::chrono::seconds(2));
  EXPECT_GT(resident_bytes(), most - (3U << 20));
  reactor.advance(std::chrono::seconds(10));
  EXPECT_LT(resident_bytes(), most - (4U << 20));
}

}  // namespace
}  // namespace dra

#endif
