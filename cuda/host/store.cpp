// store.cpp: stored weights from their files into the host's memory. All threads read a matrix at once, each a piece, and never through a
// mapping: a file that shrinks meanwhile is an error, and not a signal that ends the process.
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/reader.h"
#include "../base/status.h"
#include "../quant/formats.h"

namespace ignis {

static constexpr uint64_t PIECE_BYTES = 1 << 20;

struct Store {
  const Stored *list;
  uint32_t next;                        // matrix
  int32_t advised;                      // descriptor of the file that is read
  const ignis_load_progress *progress;  // may be null
  Arena bytes, scales;                  // of the matrix in hand
  int failure;                          // errno of a read
};

static uint64_t matrix_size(const Matrix &m) { return m.rows * row_bytes(m.dtype, m.cols); }

static uint64_t scales_size(const Matrix &m) {
  return block_bytes(m.scale_dtype) * uint64_t{num_scale_blocks(m.rows)} * num_scale_blocks(m.cols);
}

uint64_t staging_bytes() { return 0; }

void store_begin(Device &device, const Stored *list, uint32_t, void *, const ignis_load_progress *progress) {
  device.store = static_cast<Store *>(calloc(1, sizeof(Store)));
  if (!device.store) return;
  device.store->list = list;
  device.store->advised = -1;
  device.store->progress = progress;
}

ignis_status store_end(Device &device) {
  if (!device.store) return fail(IGNIS_NO_MEMORY, "no memory for what is read");
  const int failure = device.store->failure;
  arena_close(&device.store->bytes);
  arena_close(&device.store->scales);
  free(device.store);
  device.store = nullptr;
  if (failure == ENOMEM) return fail(IGNIS_NO_MEMORY, "no memory for what is read");
  return failure ? reading_failed(failure) : IGNIS_OK;
}

static bool is_stopped(const Store *store) {
  if (!store) return false;
  const bool is_cancelled = store->progress && __atomic_load_n(&store->progress->is_cancelled, __ATOMIC_RELAXED) != 0;
  return is_cancelled || __atomic_load_n(&store->failure, __ATOMIC_RELAXED) != 0;
}

// Fills `place` from a file, or from memory where there is none. False: it did not come to that.
static bool read_pieces(Device &device, const ReadJob &job, uint8_t *place) {
  Store *store = device.store;
  const uint64_t num_pieces = (job.size_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
  parallel(*device.pool, static_cast<uint32_t>(num_pieces), [&](uint32_t task, uint32_t) {
    if (is_stopped(store)) return;
    // Tasks are claimed from the last one down, and a system reads ahead in a file that is read upwards.
    const uint64_t start = (num_pieces - 1 - task) * PIECE_BYTES, left = job.size_bytes - start;
    const uint8_t *memory = job.memory ? job.memory + start : nullptr;
    const int error = read_now(ReadJob{job.descriptor, job.offset + start, memory, left < PIECE_BYTES ? left : PIECE_BYTES}, place + start);
    if (error) __atomic_store_n(&store->failure, error, __ATOMIC_RELAXED);
  });
  return !is_stopped(store);
}

// Memory of the store's own, which grows to the largest matrix. Null where the system refuses.
static uint8_t *room(Store &store, Arena *arena, uint64_t size_bytes) {
  if (arena->size_bytes < size_bytes) {
    arena_close(arena);
    *arena = Arena{};
    if (!arena_open(arena, size_bytes)) store.failure = ENOMEM;
  }
  return arena->base;
}

// Has the system read further ahead in a file than it does unasked: its pieces come in order.
static void advise(Store &store, int32_t descriptor) {
  if (descriptor < 0 || descriptor == store.advised) return;
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  store.advised = descriptor;
}

bool fetch(Device &device, Matrix *m, void *place) {
  if (!device.store) {
    if (place && place != m->source) read_pieces(device, ReadJob{-1, 0, static_cast<const uint8_t *>(m->source), matrix_size(*m)}, static_cast<uint8_t *>(place));
    if (place) m->source = place;
    return true;
  }
  Store &store = *device.store;
  const Stored &stored = store.list[store.next++];
  if (is_stopped(&store)) return false;
  advise(store, stored.descriptor);
  uint8_t *bytes = place ? static_cast<uint8_t *>(place) : room(store, &store.bytes, matrix_size(*m));
  if (!bytes || !read_pieces(device, ReadJob{stored.descriptor, stored.offset, static_cast<const uint8_t *>(m->source), matrix_size(*m)}, bytes))
    return false;
  m->source = bytes;
  if (!m->scales) return true;
  uint8_t *scales = room(store, &store.scales, scales_size(*m));
  if (!scales ||
      !read_pieces(device, ReadJob{stored.scale_descriptor, stored.scale_offset, static_cast<const uint8_t *>(m->scales), scales_size(*m)}, scales))
    return false;
  m->scales = scales;
  return true;
}

}  // namespace ignis
