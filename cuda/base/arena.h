// arena.h: one block of memory that is carved once, at load. arena_open makes it an anonymous mapping, whose pages cost memory when they
// are first written, not before; a device may give an arena memory of its own (memory_open in ops.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ignis {

// What a card's bulk copies want, and more than a cache line.
inline constexpr uint64_t ARENA_ALIGNMENT = 256;

inline constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

struct Arena {
  uint8_t *base = nullptr;
  uint64_t size_bytes = 0;
  uint64_t used_bytes = 0;
};

// False when the system refuses; the arena is then empty. Memory is zero.
bool arena_open(Arena *arena, uint64_t size_bytes);
void arena_close(Arena *arena);

// Memory of the arena, aligned to ARENA_ALIGNMENT. Never fails: the plan that sized the arena counted it; running out is our bug and ends the
// process.
void *arena_take(Arena *arena, uint64_t size_bytes);

}  // namespace ignis
