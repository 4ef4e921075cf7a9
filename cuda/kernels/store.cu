// store.cu: stored weights from the mapped file to the card, through two pinned buffers: while one chunk travels and is repacked, the next
// is read from the file.
#include <stdlib.h>
#include <string.h>

#include "../quant/formats.h"
#include "pack.h"
#include "store.h"
#include "synthetic.h"

namespace ignis {

static constexpr uint64_t CHUNK_BYTES = 32 << 20;  // long enough for the full rate of the bus, short beside any matrix that matters
static constexpr int NUM_BUFFERS = 2;

struct Staging {
  uint8_t *pinned[NUM_BUFFERS], *on_card[NUM_BUFFERS];  // [CHUNK_BYTES] each
  cudaEvent_t is_free[NUM_BUFFERS];                     // the buffer's last chunk has been taken from the card's side
  int next;
};

static __global__ void nothing() {}

cudaError_t probe_kernel_attributes(cudaFuncAttributes *attributes) { return cudaFuncGetAttributes(attributes, nothing); }

void staging_close(Device *device) {
  Staging *staging = device->staging;
  if (!staging) return;
  cudaStreamSynchronize(device->stream);
  for (int i = 0; i < NUM_BUFFERS; i++) {
    if (staging->pinned[i]) cudaFreeHost(staging->pinned[i]);
    if (staging->on_card[i]) cudaFree(staging->on_card[i]);
    if (staging->is_free[i]) cudaEventDestroy(staging->is_free[i]);
  }
  free(staging);
  device->staging = nullptr;
}

static bool staging_open(Device &device) {
  if (device.staging) return true;
  if (device.error != cudaSuccess) return false;
  device.staging = static_cast<Staging *>(calloc(1, sizeof(Staging)));
  if (!device.staging) keep(device, cudaErrorMemoryAllocation, __func__);
  for (int i = 0; device.staging && i < NUM_BUFFERS; i++) {
    IGNIS_CUDA(device, cudaMallocHost(reinterpret_cast<void **>(&device.staging->pinned[i]), CHUNK_BYTES));
    IGNIS_CUDA(device, cudaMalloc(reinterpret_cast<void **>(&device.staging->on_card[i]), CHUNK_BYTES));
    IGNIS_CUDA(device, cudaEventCreateWithFlags(&device.staging->is_free[i], cudaEventDisableTiming));
  }
  return device.error == cudaSuccess;
}

// Calls use(chunk on the card, first byte, bytes) for every chunk, which must queue its work on the stream. A chunk is a multiple of
// unit_bytes, but for the last. Until all memory that use() reads is taken, the source is not needed again. Without a source the card
// makes the chunks.
template <class Use>
static void each_chunk(Device &device, const Matrix &m, uint64_t unit_bytes, const Use &use) {
  const uint64_t size_bytes = m.rows * row_bytes(m.dtype, m.cols);
  if (!staging_open(device)) return;
  Staging &staging = *device.staging;
  const uint64_t chunk_bytes = CHUNK_BYTES / unit_bytes * unit_bytes;
  if (chunk_bytes == 0) return keep(device, cudaErrorInvalidValue, "a row of weights longer than a staging buffer");
  for (uint64_t start = 0; start < size_bytes && device.error == cudaSuccess; start += chunk_bytes) {
    const uint64_t bytes = size_bytes - start < chunk_bytes ? size_bytes - start : chunk_bytes;
    const int buffer = staging.next;
    staging.next = (buffer + 1) % NUM_BUFFERS;
    if (m.source) {
      IGNIS_CUDA(device, cudaEventSynchronize(staging.is_free[buffer]));
      memcpy(staging.pinned[buffer], static_cast<const uint8_t *>(m.source) + start, bytes);
      IGNIS_CUDA(device, cudaMemcpyAsync(staging.on_card[buffer], staging.pinned[buffer], bytes, cudaMemcpyHostToDevice, device.stream));
    } else {
      synthesize(staging.on_card[buffer], m, start, bytes, device.stream);
      IGNIS_LAUNCHED(device);
    }
    use(staging.on_card[buffer], start, bytes);
    IGNIS_CUDA(device, cudaEventRecord(staging.is_free[buffer], device.stream));
  }
}

uint64_t matrix_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) { return packed_bytes(dtype, rows, cols); }

void matrix_pack(Device &device, Matrix *m, void *packed) {
  const uint64_t stored = row_bytes(m->dtype, m->cols);
  if (has_block_scales(m->dtype) && !m->scales) {
    m->scale_dtype = IGNIS_F32;
    fill_block_scales(packed, m->dtype, m->rows, m->cols, synthetic_block_scale(synthetic_of(m->seed, m->tensor, m->rows, m->cols)),
                      device.stream);
    IGNIS_LAUNCHED(device);
  } else if (has_block_scales(m->dtype)) {
    const uint64_t scales_bytes = block_bytes(m->scale_dtype) * uint64_t{num_scale_blocks(m->rows)} * num_scale_blocks(m->cols);
    IGNIS_CUDA(device, cudaMemcpyAsync(static_cast<uint8_t *>(packed) + block_scales_offset(m->dtype, m->rows, m->cols), m->scales,
                                       scales_bytes, cudaMemcpyHostToDevice, device.stream));
  }
  each_chunk(device, *m, PACK_ROWS * stored, [&](const void *chunk, uint64_t start, uint64_t bytes) {
    pack_rows(packed, chunk, m->dtype, m->rows, m->cols, static_cast<uint32_t>(start / stored), static_cast<uint32_t>(bytes / stored),
              device.stream, m->scale_dtype);
    IGNIS_LAUNCHED(device);
  });
  m->packed = packed;
  m->source = m->scales = nullptr;
}

uint64_t table_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) { return align_up(rows * row_bytes(dtype, cols), ARENA_ALIGNMENT); }

void table_store(Device &device, Matrix *m, void *stored) {
  each_chunk(device, *m, m->source ? 1 : synthetic_bytes(m->dtype), [&](const void *chunk, uint64_t start, uint64_t bytes) {
    IGNIS_CUDA(device, cudaMemcpyAsync(static_cast<uint8_t *>(stored) + start, chunk, bytes, cudaMemcpyDeviceToDevice, device.stream));
  });
  m->packed = m->source = stored;
}

}  // namespace ignis
