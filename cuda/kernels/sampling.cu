// sampling.cu: starts the kernels of cuda/numba, which draw one token a row as ignis_sampling's comment orders, and keep the lanes' token
// counts. No arithmetic is here.
//
// Every kernel reads its row's SampleParams on the card and ends at once where it has nothing to do: a recorded round serves any sampling.
#include <stddef.h>
#include <stdlib.h>

#include "../numba/ptx/sampling_kernels.h"
#include "device.h"
#include "sampling.h"

namespace ignis {

static_assert(sizeof(SampleParams) == sampling::PARAMS_BYTES);
#define SAME_PLACE(field) static_assert(offsetof(SampleParams, field) == sampling::params::field)
SAME_PLACE(temperature);
SAME_PLACE(top_p);
SAME_PLACE(min_p);
SAME_PLACE(repetition_penalty);
SAME_PLACE(presence_penalty);
SAME_PLACE(frequency_penalty);
SAME_PLACE(top_k);
SAME_PLACE(top_logprobs);
SAME_PLACE(seed);
SAME_PLACE(position);
SAME_PLACE(num_bias);
SAME_PLACE(has_mask);
SAME_PLACE(bias_ids);
SAME_PLACE(bias_values);
SAME_PLACE(permitted);
SAME_PLACE(output_counts);
SAME_PLACE(is_seen);
#undef SAME_PLACE
static_assert(sizeof(ignis_draw) == sampling::DRAW_WORDS * 4);
static_assert(IGNIS_MAX_TOP_LOGPROBS == sampling::MAX_TOP_LOGPROBS);

// --- the kernels ----------------------------------------------------------------------------------------------------------------

struct SamplingKernels {
  cudaLibrary_t libraries[sampling::NUM_KERNELS];
  cudaKernel_t kernels[sampling::NUM_KERNELS];
};

cudaError_t sampling_open(Device *device) {
  device->sampling = static_cast<SamplingKernels *>(calloc(1, sizeof(SamplingKernels)));
  if (!device->sampling) return cudaErrorMemoryAllocation;
  for (uint32_t i = 0; i < sampling::NUM_KERNELS; i++) {
    cudaError_t error = cudaLibraryLoadData(&device->sampling->libraries[i], sampling::IMAGES[i], nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (error == cudaSuccess)
      error = cudaLibraryGetKernel(&device->sampling->kernels[i], device->sampling->libraries[i], sampling::NAMES[i]);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

void sampling_close(Device *device) {
  if (!device->sampling) return;
  for (cudaLibrary_t library : device->sampling->libraries)
    if (library) cudaLibraryUnload(library);
  free(device->sampling);
  device->sampling = nullptr;
}

// A launch's arguments as Numba's kernels take them: each is one word of 64 bits, and an array of one dimension is seven.
class Arguments {
 public:
  Arguments() = default;
  Arguments(const Arguments &) = delete;  // pointers are into words

  template <class Item>
  Arguments &array(Item *items, uint64_t num) {
    return number(0).number(0).number(num).number(sizeof(Item)).address(items).number(num).number(sizeof(Item));
  }
  Arguments &address(const volatile void *place) { return number(reinterpret_cast<uint64_t>(place)); }
  Arguments &number(uint64_t value) {
    words[num_words] = value;
    pointers[num_words] = &words[num_words];
    num_words++;
    return *this;
  }
  void **list() { return pointers; }

 private:
  static constexpr uint32_t MOST = 64;
  uint64_t words[MOST];
  void *pointers[MOST];
  uint32_t num_words = 0;
};

// Nothing of these kernels waits for the one before by itself, so none is put on the card before that one is done.
static void start(Device &device, sampling::Kernel kernel, dim3 grid, Arguments &arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(sampling::THREADS[kernel]);
  config.stream = device.stream;
  keep(device, cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(device.sampling->kernels[kernel]), arguments.list()),
       sampling::NAMES[kernel]);
}

// All of the card's memory, as words from address 0.
static uint32_t *const MEMORY = nullptr;
static constexpr uint64_t MEMORY_WORDS = uint64_t{1} << 60;

// --- the draw -------------------------------------------------------------------------------------------------------------------

static uint32_t num_slices(uint32_t V) { return (V + sampling::SLICE - 1) / sampling::SLICE; }

// The memory of all rows.
struct SampleMemory {
  uint64_t patched_num, wide_num, narrow_num;
  float *patched;
  int64_t *wide;
  int32_t *narrow;

  SampleMemory(void *memory, uint32_t rows, uint32_t V) {
    patched_num = uint64_t{rows} * V;
    wide_num = rows * (sampling::WIDE_WORDS + 2 * uint64_t{V} + 2 * uint64_t{num_slices(V)});
    narrow_num = uint64_t{rows} * sampling::NARROW_WORDS;
    wide = static_cast<int64_t *>(memory);
    patched = reinterpret_cast<float *>(wide + wide_num);
    narrow = reinterpret_cast<int32_t *>(patched + patched_num);
  }
  uint64_t bytes() const { return wide_num * sizeof(*wide) + patched_num * sizeof(*patched) + narrow_num * sizeof(*narrow); }
};

uint64_t sample_bytes(uint32_t, uint32_t max_lanes, uint32_t V) { return SampleMemory(nullptr, max_lanes, V).bytes(); }

void sample(Device &device, ignis_draw *draws, const float *logits, const SampleRow *, uint32_t num_rows, uint32_t V, void *workspace) {
  const SampleMemory own(workspace, num_rows, V);
  SampleParams *params = device.step.params;
  const dim3 slices(num_slices(V), num_rows);
  Arguments patched, weighed, gathered, chosen;
  patched.array(own.patched, own.patched_num).array(own.wide, own.wide_num).array(own.narrow, own.narrow_num);
  patched.array(MEMORY, MEMORY_WORDS).array(logits, own.patched_num).array(params, num_rows).number(V);
  start(device, sampling::PATCH, slices, patched);
  weighed.array(own.wide, own.wide_num).array(own.narrow, own.narrow_num).array(own.patched, own.patched_num);
  weighed.array(logits, own.patched_num).array(params, num_rows).number(V);
  start(device, sampling::WEIGH, slices, weighed);
  start(device, sampling::GATHER, slices, weighed);  // it has the same
  chosen.array(reinterpret_cast<int32_t *>(draws), uint64_t{num_rows} * sampling::DRAW_WORDS);
  chosen.array(own.wide, own.wide_num).array(own.narrow, own.narrow_num).array(MEMORY, MEMORY_WORDS);
  chosen.array(logits, own.patched_num).array(params, num_rows).number(V);
  start(device, sampling::CHOOSE, dim3(num_rows), chosen);
}

// --- the lanes' tokens ----------------------------------------------------------------------------------------------------------

static constexpr uint32_t STAGED = 8192;  // tokens on their way into the counts at once

static uint64_t counts_bytes(uint32_t V) { return align_up(uint64_t{V} * 4, ARENA_ALIGNMENT); }
static uint64_t seen_bytes(uint32_t V) { return align_up((uint64_t{V} + 31) / 32 * 4, ARENA_ALIGNMENT); }

uint64_t lane_tokens_bytes(uint32_t V) { return counts_bytes(V) + seen_bytes(V) + STAGED * 4; }

void lane_tokens_place(LaneTokens *tokens, void *memory, uint32_t V) {
  uint8_t *base = static_cast<uint8_t *>(memory);
  *tokens = LaneTokens{reinterpret_cast<uint32_t *>(base), reinterpret_cast<uint32_t *>(base + counts_bytes(V)),
                       reinterpret_cast<int32_t *>(base + counts_bytes(V) + seen_bytes(V)), 0};
}

static void add_tokens(Device &device, const LaneTokens &lane, const int32_t *tokens, uint32_t num, uint32_t adds) {
  for (uint32_t first = 0; first < num; first += STAGED) {
    const uint32_t count = num - first < STAGED ? num - first : STAGED;
    upload(device, lane.seen, tokens + first, uint64_t{count} * 4);
    Arguments arguments;
    arguments.array(MEMORY, MEMORY_WORDS).address(lane.output_counts).address(lane.is_seen).address(lane.seen);
    arguments.number(count).number(adds);
    const uint32_t threads = sampling::THREADS[sampling::COUNT_TOKENS];
    start(device, sampling::COUNT_TOKENS, dim3((count + threads - 1) / threads), arguments);
  }
}

void lane_tokens_set(Device &device, LaneTokens *tokens, uint32_t V, const int32_t *prompt, uint32_t num_prompt, const int32_t *output,
                     uint32_t num_output) {
  IGNIS_CUDA(device, cudaMemsetAsync(tokens->output_counts, 0, counts_bytes(V) + seen_bytes(V), device.stream));
  add_tokens(device, *tokens, prompt, num_prompt, 0);
  add_tokens(device, *tokens, output, num_output, 1);
}

}  // namespace ignis
