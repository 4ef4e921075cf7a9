#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ignis {

bool arena_open(Arena *arena, uint64_t size_bytes) {
  *arena = Arena{};
  if (size_bytes == 0) return true;
  void *base = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return false;
  madvise(base, size_bytes, MADV_HUGEPAGE);  // fewer TLB misses when weights are streamed; a kernel without it is only slower
  arena->base = static_cast<uint8_t *>(base);
  arena->size_bytes = size_bytes;
  return true;
}

void arena_close(Arena *arena) {
  if (arena->base) munmap(arena->base, arena->size_bytes);
  *arena = Arena{};
}

void *arena_take(Arena *arena, uint64_t size_bytes) {
  const uint64_t size = align_up(size_bytes, ARENA_ALIGNMENT);
  if (size > arena->size_bytes - arena->used_bytes) {
    fprintf(stderr, "ignis: the memory plan is short by %llu bytes\n",
            static_cast<unsigned long long>(size - (arena->size_bytes - arena->used_bytes)));
    abort();
  }
  void *memory = arena->base + arena->used_bytes;
  arena->used_bytes += size;
  return memory;
}

}  // namespace ignis
