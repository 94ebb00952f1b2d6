#include "pkg/cel/lib/arena.h"

#include <algorithm>

namespace dra::cel {

Arena::~Arena() {
  for (Cleanup* c = cleanups_; c != nullptr; c = c->previous) c->destroy(c->object);
  while (blocks_ != nullptr) {
    Block* previous = blocks_->previous;
    ::operator delete(blocks_);
    blocks_ = previous;
  }
}

void* Arena::allocate_slow(size_t bytes, size_t align) {
  size_t wanted = bytes + align + sizeof(Block);
  size_t size = std::max(next_block_, wanted);
  next_block_ = std::min<size_t>(next_block_ * 2, 1 << 20);
  auto* block = static_cast<Block*>(::operator new(size));
  block->previous = blocks_;
  blocks_ = block;
  char* first = reinterpret_cast<char*>(block) + sizeof(Block);
  auto aligned = (reinterpret_cast<uintptr_t>(first) + align - 1) & ~(static_cast<uintptr_t>(align) - 1);
  char* end = reinterpret_cast<char*>(block) + size;
  char* after = reinterpret_cast<char*>(aligned + bytes);
  // A block made for one large object does not replace a current block with more space left.
  if (end - after >= end_ - next_ || next_ == nullptr) {
    next_ = after;
    end_ = end;
  }
  used_ += bytes;
  return reinterpret_cast<void*>(aligned);
}

void Arena::add_cleanup(void* object, void (*destroy)(void*)) {
  auto* c = new (allocate(sizeof(Cleanup), alignof(Cleanup))) Cleanup{destroy, object, cleanups_};
  cleanups_ = c;
}

}  // namespace dra::cel
