// store.cu: stored weights from their files to the card. Three things go on at once, each on the next chunk of a matrix:
//
//   threads      file -> pinned buffer          up to MAX_BUFFERS of them in turn
//   the bus      pinned buffer -> slot          NUM_SLOTS on the card in turn, each with a stream of its own,
//   kernels      slot -> packed matrix          on which copies and kernels alternate; tables and float32 go to their place at once
#include <stdlib.h>

#include "../base/machine.h"
#include "../base/reader.h"
#include "../base/status.h"
#include "../quant/formats.h"
#include "pack.h"
#include "store.h"
#include "synthetic.h"

namespace ignis {

// The threads and the bus share the memory's rate, so the ring is as small as it can be: on 16 cores beside an H200, chunks of 16, 8 and 4 MB
// with 16 threads are read at 26, 28 and 33 GB/s (320, 160 and 96 MB of buffers), 4 MB with 10 threads and 64 MB at 41, 2 MB at 30 or less:
// copies of 1 and 4 MB by themselves reach 23 and 53.
static constexpr uint64_t CHUNK_BYTES = 4 << 20;
static constexpr uint64_t MAX_CHUNK_BYTES = 16 << 20;  // of matrices whose PACK_ROWS rows are longer; 32768 columns of float32: max_columns
static constexpr uint64_t PINNED_BYTES = 64 << 20;
static constexpr uint32_t MAX_BUFFERS = PINNED_BYTES / CHUNK_BYTES, NUM_SLOTS = 3;
static constexpr uint32_t MAX_THREADS = 10;  // of which one copies 6 GB/s
static constexpr uint64_t COPIES_AHEAD = 3;  // copies that are queued while the one before is waited for
static_assert(PINNED_BYTES / MAX_CHUNK_BYTES > COPIES_AHEAD);

// A matrix's part that travels at once. Block scales are the chunk before their matrix's.
struct Chunk {
  uint64_t start, size_bytes;  // of the stored matrix, or of its scales
};

struct Store {
  const Stored *list;
  uint32_t num, next;  // matrices; the one that is asked for next
  Chunk *chunks;       // [num_chunks] of all matrices, in order
  ReadJob *jobs;       // [num_chunks]
  uint64_t num_chunks, next_chunk;
  const ignis_load_progress *progress;  // may be null
  Reader *reader;
  uint32_t num_buffers;
  uint64_t buffer_bytes;
  Arena pinned;            // [num_buffers, buffer_bytes]
  bool is_pinned;
  uint8_t *buffers[MAX_BUFFERS];
  uint8_t *slots, *own_slots;  // [NUM_SLOTS, buffer_bytes]; own: taken here, because the caller gave none
  cudaStream_t streams[NUM_SLOTS];
  cudaEvent_t is_copied[MAX_BUFFERS], is_begun;
  int failure;  // errno of a read
};

static __global__ void nothing() {}

cudaError_t probe_kernel_attributes(cudaFuncAttributes *attributes) { return cudaFuncGetAttributes(attributes, nothing); }

static uint64_t matrix_size(const Matrix &m) { return m.rows * row_bytes(m.dtype, m.cols); }

// Of the block scales that travel with it.
static uint64_t scales_size(const Stored &stored) {
  const Matrix &m = stored.matrix;
  if (stored.is_table || !m.scales || !has_block_scales(m.dtype)) return 0;
  return block_bytes(m.scale_dtype) * uint64_t{num_scale_blocks(m.rows)} * num_scale_blocks(m.cols);
}

// Bytes of a chunk: matrices are packed in groups of rows, tables go anywhere. 0 where a group is too long.
static uint64_t chunk_size(const Stored &stored) {
  const Matrix &m = stored.matrix;
  const uint64_t unit = !stored.is_table ? PACK_ROWS * row_bytes(m.dtype, m.cols) : m.source ? 1 : synthetic_bytes(m.dtype);
  return unit <= CHUNK_BYTES ? CHUNK_BYTES / unit * unit : unit <= MAX_CHUNK_BYTES ? unit : 0;
}

// Fills chunks and jobs, or only counts them.
static uint64_t list_chunks(const Stored *list, uint32_t num, Chunk *chunks, ReadJob *jobs) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < num; i++) {
    const uint64_t size_bytes = matrix_size(list[i].matrix), most = chunk_size(list[i]);
    const uint8_t *source = static_cast<const uint8_t *>(list[i].matrix.source);
    if (const uint64_t scales_bytes = scales_size(list[i])) {
      if (chunks) {
        chunks[count] = Chunk{0, scales_bytes};
        jobs[count] = ReadJob{list[i].scale_descriptor, list[i].scale_offset, static_cast<const uint8_t *>(list[i].matrix.scales), scales_bytes};
      }
      count++;
    }
    for (uint64_t start = 0; most > 0 && start < size_bytes; start += most, count++) {
      if (!chunks) continue;
      const uint64_t bytes = size_bytes - start < most ? size_bytes - start : most;
      chunks[count] = Chunk{start, bytes};
      jobs[count] = source ? ReadJob{list[i].descriptor, list[i].offset + start, source + start, bytes} : ReadJob{-1, 0, nullptr, bytes};
    }
  }
  return count;
}

void store_close(Device *device) {
  Store *store = device->store;
  if (!store) return;
  reader_stop(store->reader);
  for (cudaStream_t stream : store->streams)
    if (stream) cudaStreamSynchronize(stream);
  cudaStreamSynchronize(device->stream);
  for (cudaEvent_t event : store->is_copied)
    if (event) cudaEventDestroy(event);
  if (store->is_begun) cudaEventDestroy(store->is_begun);
  for (cudaStream_t stream : store->streams)
    if (stream) cudaStreamDestroy(stream);
  if (store->is_pinned) cudaHostUnregister(store->pinned.base);
  arena_close(&store->pinned);
  if (store->own_slots) cudaFree(store->own_slots);
  free(store->chunks);
  free(store->jobs);
  free(store);
  device->store = nullptr;
}

uint64_t staging_bytes() { return NUM_SLOTS * MAX_CHUNK_BYTES; }

// What the device's stream was told before, such as the zeros of the arena or scales that are made, comes before what follows.
static void wait_for_stream(Device &device, Store &store) {
  IGNIS_CUDA(device, cudaEventRecord(store.is_begun, device.stream));
  for (cudaStream_t stream : store.streams) IGNIS_CUDA(device, cudaStreamWaitEvent(stream, store.is_begun));
}

// Memory and threads of a store; false with device.error where they are refused.
static bool open_store(Device &device, Store &store, void *staging) {
  store.num_chunks = list_chunks(store.list, store.num, nullptr, nullptr);
  store.chunks = static_cast<Chunk *>(calloc(store.num_chunks + 1, sizeof(Chunk)));
  store.jobs = static_cast<ReadJob *>(calloc(store.num_chunks + 1, sizeof(ReadJob)));
  if (!store.chunks || !store.jobs) keep(device, cudaErrorMemoryAllocation, __func__);
  if (device.error != cudaSuccess) return false;
  list_chunks(store.list, store.num, store.chunks, store.jobs);
  store.buffer_bytes = ARENA_ALIGNMENT;
  for (uint64_t i = 0; i < store.num_chunks; i++)
    if (store.chunks[i].size_bytes > store.buffer_bytes) store.buffer_bytes = align_up(store.chunks[i].size_bytes, ARENA_ALIGNMENT);
  const uint64_t room = PINNED_BYTES / store.buffer_bytes < MAX_BUFFERS ? PINNED_BYTES / store.buffer_bytes : MAX_BUFFERS;
  store.num_buffers = static_cast<uint32_t>(store.num_chunks < room ? store.num_chunks + 1 : room);
  // Ordinary memory in large pages, pinned afterwards: half the time of the driver's own.
  if (!arena_open(&store.pinned, store.num_buffers * store.buffer_bytes)) keep(device, cudaErrorMemoryAllocation, __func__);
  if (device.error != cudaSuccess) return false;
  IGNIS_CUDA(device, cudaHostRegister(store.pinned.base, store.pinned.size_bytes, cudaHostRegisterDefault));
  store.is_pinned = device.error == cudaSuccess;
  store.slots = static_cast<uint8_t *>(staging);
  if (!staging) {
    IGNIS_CUDA(device, cudaMalloc(reinterpret_cast<void **>(&store.own_slots), NUM_SLOTS * store.buffer_bytes));
    store.slots = store.own_slots;
  }
  for (cudaStream_t &stream : store.streams) IGNIS_CUDA(device, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  IGNIS_CUDA(device, cudaEventCreateWithFlags(&store.is_begun, cudaEventDisableTiming));
  for (uint32_t i = 0; i < store.num_buffers; i++) {
    store.buffers[i] = store.pinned.base + i * store.buffer_bytes;
    IGNIS_CUDA(device, cudaEventCreateWithFlags(&store.is_copied[i], cudaEventDisableTiming));
  }
  wait_for_stream(device, store);
  if (device.error != cudaSuccess) return false;
  uint32_t num_threads = usable_cores();
  if (num_threads > MAX_THREADS) num_threads = MAX_THREADS;
  if (num_threads > store.num_buffers) num_threads = store.num_buffers;
  store.reader = reader_start(store.jobs, store.num_chunks, store.buffers, store.num_buffers, num_threads);
  if (!store.reader) keep(device, cudaErrorMemoryAllocation, "the threads that read weights");
  return device.error == cudaSuccess;
}

void store_begin(Device &device, const Stored *list, uint32_t num, void *staging, const ignis_load_progress *progress) {
  if (device.error != cudaSuccess) return;
  Store *store = static_cast<Store *>(calloc(1, sizeof(Store)));
  if (!store) return keep(device, cudaErrorMemoryAllocation, __func__);
  device.store = store;
  store->list = list;
  store->num = num;
  store->progress = progress;
  open_store(device, *store, staging);
}

ignis_status store_end(Device &device) {
  const int failure = device.store ? device.store->failure : 0;
  store_close(&device);
  const ignis_status status = wait(device);
  return failure ? reading_failed(failure) : status;
}

static bool is_stopped(const Device &device, const Store &store) {
  const bool is_cancelled = store.progress && __atomic_load_n(&store.progress->is_cancelled, __ATOMIC_RELAXED) != 0;
  return is_cancelled || store.failure != 0 || device.error != cudaSuccess;
}

// Gives back the buffers of all chunks whose copies are done, but for the last few, which are not waited for.
static void release_buffers(Device &device, Store &store, uint64_t num_queued) {
  if (num_queued <= COPIES_AHEAD) return;
  const uint64_t done = num_queued - COPIES_AHEAD;
  IGNIS_CUDA(device, cudaEventSynchronize(store.is_copied[(done - 1) % store.num_buffers]));
  reader_release(*store.reader, done);
}

// Brings the next chunk out of its file to `target` on the card.
static void carry(Device &device, Store &store, const Chunk &chunk, uint8_t *target, cudaStream_t stream) {
  const uint32_t buffer = static_cast<uint32_t>(store.next_chunk % store.num_buffers);
  store.failure = reader_wait(*store.reader, store.next_chunk);
  if (store.failure) return;
  IGNIS_CUDA(device, cudaMemcpyAsync(target, store.buffers[buffer], chunk.size_bytes, cudaMemcpyHostToDevice, stream));
  IGNIS_CUDA(device, cudaEventRecord(store.is_copied[buffer], stream));
}

// The same; what no file holds is made there.
static void bring(Device &device, Store &store, const Matrix &m, const Chunk &chunk, uint8_t *target, cudaStream_t stream) {
  if (m.source) return carry(device, store, chunk, target, stream);
  synthesize(target, m, chunk.start, chunk.size_bytes, stream);
  IGNIS_LAUNCHED(device);
}

// Takes the next matrix's block scales to `place` on the card, before what any slot is told from here on.
static void bring_scales(Device &device, uint8_t *place) {
  if (!device.store || device.error != cudaSuccess) return;
  Store &store = *device.store;
  if (scales_size(store.list[store.next]) == 0 || is_stopped(device, store)) return;
  const uint32_t buffer = static_cast<uint32_t>(store.next_chunk % store.num_buffers);
  carry(device, store, store.chunks[store.next_chunk], place, store.streams[store.next_chunk % NUM_SLOTS]);
  if (store.failure) return;
  for (cudaStream_t stream : store.streams) IGNIS_CUDA(device, cudaStreamWaitEvent(stream, store.is_copied[buffer]));
  release_buffers(device, store, ++store.next_chunk);
}

// Takes the next matrix's chunks to the card: to `place`, one behind the other, where it is given; else each to a slot, and use(slot,
// first byte, bytes, stream) queues on the slot's stream what is to be done with it.
template <class Use>
static void each_chunk(Device &device, uint8_t *place, const Use &use) {
  if (!device.store || device.error != cudaSuccess) return;
  Store &store = *device.store;
  const Stored &stored = store.list[store.next++];
  if (chunk_size(stored) == 0) return keep(device, cudaErrorInvalidValue, "a row of weights longer than a staging buffer");
  for (uint64_t left = matrix_size(stored.matrix); left > 0 && !is_stopped(device, store); store.next_chunk++) {
    const Chunk &chunk = store.chunks[store.next_chunk];
    const uint64_t slot = store.next_chunk % NUM_SLOTS;
    uint8_t *target = place ? place + chunk.start : store.slots + slot * store.buffer_bytes;
    bring(device, store, stored.matrix, chunk, target, store.streams[slot]);
    if (store.failure) return;
    if (!place) use(target, chunk.start, chunk.size_bytes, store.streams[slot]);
    left -= chunk.size_bytes;
    release_buffers(device, store, store.next_chunk + 1);
  }
}

// A store of one matrix, for whoever stores one alone.
static bool begin_alone(Device &device, const Stored *stored) {
  if (device.store) return false;
  store_begin(device, stored, 1, nullptr, nullptr);
  return true;
}

uint32_t max_columns(ignis_dtype dtype) {
  return static_cast<uint32_t>(MAX_CHUNK_BYTES / PACK_ROWS / block_bytes(dtype) * block_values(dtype));
}

uint64_t matrix_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) { return packed_bytes(dtype, rows, cols); }

void matrix_pack(Device &device, Matrix *m, void *packed) {
  const Stored own{*m, -1, 0, false};
  const bool is_alone = begin_alone(device, &own);
  if (has_block_scales(m->dtype) && !m->scales) {
    m->scale_dtype = IGNIS_F32;
    fill_block_scales(packed, m->dtype, m->rows, m->cols, synthetic_block_scale(synthetic_of(m->seed, m->tensor, m->rows, m->cols)),
                      device.stream);
    IGNIS_LAUNCHED(device);
    if (device.store) wait_for_stream(device, *device.store);
  } else if (has_block_scales(m->dtype)) {
    bring_scales(device, static_cast<uint8_t *>(packed) + block_scales_offset(m->dtype, m->rows, m->cols));
  }
  const uint64_t row = row_bytes(m->dtype, m->cols);
  each_chunk(device, nullptr, [&](const uint8_t *slot, uint64_t start, uint64_t bytes, cudaStream_t stream) {
    pack_rows(packed, slot, m->dtype, m->rows, m->cols, static_cast<uint32_t>(start / row), static_cast<uint32_t>(bytes / row),
              stream, m->scale_dtype);
    IGNIS_LAUNCHED(device);
  });
  if (is_alone) store_end(device);
  m->packed = packed;
  m->source = m->scales = nullptr;
}

uint64_t table_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) { return align_up(rows * row_bytes(dtype, cols), ARENA_ALIGNMENT); }

void table_store(Device &device, Matrix *m, void *stored) {
  const Stored own{*m, -1, 0, true};
  const bool is_alone = begin_alone(device, &own);
  each_chunk(device, static_cast<uint8_t *>(stored), [](const uint8_t *, uint64_t, uint64_t, cudaStream_t) {});
  if (is_alone) store_end(device);
  m->packed = m->source = stored;
}

}  // namespace ignis
