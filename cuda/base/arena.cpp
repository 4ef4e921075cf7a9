#include "arena.h"

#include <fcntl.h>
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

// Whether one line of /proc/self/maps holds all of [start, stop), is not writable, and has a file behind it.
static bool is_file_mapping(uintptr_t start, uintptr_t stop) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return false;
  bool is_file = false;
  char line[512];
  while (fgets(line, sizeof line, maps)) {
    unsigned long first = 0, last = 0, inode = 0;
    char access[5] = "";
    if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &first, &last, access, &inode) == 4 && first <= start && stop <= last) {
      is_file = access[0] == 'r' && access[1] == '-' && inode != 0;
      break;
    }
  }
  fclose(maps);
  return is_file;
}

void read_ahead(const void *start, uint64_t size_bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(start) / page * page, end = reinterpret_cast<uintptr_t>(start) + size_bytes;
  if (begin < end) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_WILLNEED);  // memory without a file is left as it is
}

void drop_file_pages(const void *start, uint64_t size_bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = align_up(reinterpret_cast<uintptr_t>(start), page);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(start) + size_bytes) / page * page;
  if (begin >= end || !is_file_mapping(begin, end)) return;
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace ignis
