// round_input.cu: rows in memory into the form of round_input.cuh.
#include "gated.cuh"
#include "linear_round.h"
#include "round_input.cuh"
#include "target.h"

namespace ignis {

uint64_t round_input_bytes(uint32_t max_K) { return (round_layout(max_K).size_bytes + 255) / 256 * 256; }

static constexpr uint32_t THREADS = 1024;

// Where rows come from: value() is what a reader of `column` gets, raw() what its row's scale and squares are made of.
struct PlainRow {
  static constexpr bool HAS_OWN_SCALE = true, IS_NORM = false;
  const float *x;
  __device__ __forceinline__ float raw(uint64_t index) const { return x[index]; }
  __device__ __forceinline__ float value(float raw, uint32_t) const { return raw; }
};
struct NormRow {
  static constexpr bool HAS_OWN_SCALE = true, IS_NORM = true;
  const float *x, *w;
  __device__ __forceinline__ float raw(uint64_t index) const { return x[index]; }
  __device__ __forceinline__ float value(float raw, uint32_t column) const { return raw * w[column]; }
};
struct GateRow {
  static constexpr bool HAS_OWN_SCALE = false, IS_NORM = false;
  const float *gate, *up;
  __device__ __forceinline__ float raw(uint64_t index) const { return gated(gate[index], up[index]); }
  __device__ __forceinline__ float value(float raw, uint32_t) const { return raw; }
};

// A block has a token.
template <class Row>
static __global__ void __launch_bounds__(THREADS) round_prepare_kernel(const RoundInput in, const Row row) {
#if __CUDA_ARCH__ >= 900
  // The linear kernel behind may start to fetch its weights; it waits for this one's end before it reads rows.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const RoundLayout layout = round_layout(in.K);
  const uint32_t token = blockIdx.x;
  RoundScale scale = gate_scale();
  if constexpr (Row::HAS_OWN_SCALE) {
    // The largest value; of a norm the sum of squares.
    __shared__ float parts[THREADS / 32];
    float all = 0.0f;
    for (uint32_t k = threadIdx.x; k < in.K; k += THREADS) {
      const float raw = row.raw(uint64_t{token} * in.K + k);
      all = Row::IS_NORM ? fmaf(raw, raw, all) : fmaxf(all, fabsf(raw));
    }
    for (uint32_t i = 16; i; i >>= 1) {
      const float other = __shfl_xor_sync(~0u, all, i);
      all = Row::IS_NORM ? all + other : fmaxf(all, other);
    }
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = all;
    __syncthreads();
    all = 0.0f;
    for (uint32_t i = 0; i < THREADS / 32; i++) all = Row::IS_NORM ? all + parts[i] : fmaxf(all, parts[i]);
    if constexpr (Row::IS_NORM) {
      const float norm = rsqrtf(all / static_cast<float>(in.K) + in.eps);
      scale = norm_scale(norm);
      if (threadIdx.x == 0) in.norms[token] = norm;
    } else {
      scale = RoundScale::bringing(all, 14);
    }
  }
  if (threadIdx.x == 0) store_scale(in.memory, layout, token, scale);
  for (uint32_t k = threadIdx.x; k < layout.groups * GROUP_COLS; k += THREADS) {  // whole warps
    const bool is_there = k < in.K;
    const float raw = is_there ? row.raw(uint64_t{token} * in.K + k) : 0.0f;
    store_group(in.memory, token, k / GROUP_COLS, is_there ? row.value(raw, k) : 0.0f, scale);
    if constexpr (Row::IS_NORM) store_squares(in.memory, layout, token, k / GROUP_COLS, raw);
  }
}

template <class Row>
static void prepare_rows(const RoundInput &input, const Row &row, uint32_t code, cudaStream_t stream) {
  if (input.T == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(input.T);
  config.blockDim = dim3(THREADS);
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = overlaps_launches(code) ? 1 : 0;
  cudaLaunchKernelEx(&config, round_prepare_kernel<Row>, input, row);
}

void round_prepare(const RoundInput &input, const float *x, uint32_t code, cudaStream_t stream) { prepare_rows(input, PlainRow{x}, code, stream); }
void round_prepare_norm(const RoundInput &input, const float *x, const float *w, uint32_t code, cudaStream_t stream) {
  prepare_rows(input, NormRow{x, w}, code, stream);
}
void round_prepare_swiglu(const RoundInput &input, const float *gate, const float *up, uint32_t code, cudaStream_t stream) {
  prepare_rows(input, GateRow{gate, up}, code, stream);
}

}  // namespace ignis
