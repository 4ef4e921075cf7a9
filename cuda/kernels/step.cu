// step.cu: a step's inputs into a pinned image, and from there to fixed addresses on the card in one copy.
#include <stdlib.h>
#include <string.h>

#include "../base/time.h"
#include "device.h"
#include "inputs.h"

namespace ignis {

// The image and the card's side are the same bytes in the same places, and what was sent stays in the image. So any range of it may go up
// again, and only what changed has to: one piece, from the mask of the last lane whose mask changed to the last page table in use.
//
//   biases of lane 0, 1, .. | masks of lane .. 2, 1, 0 | params | groups | tokens | positions | page tables
//   where one changed       |                <-------- | ---------------- one copy -------------------->
struct StepLayout {
  uint64_t biases, masks, params, groups, tokens, positions, page_tables, size_bytes;
  uint64_t bias_stride, mask_stride, mask_bytes;
  uint32_t max_lanes, max_pages;

  explicit StepLayout(const StepLimits &limits) : max_lanes(limits.max_lanes) {
    uint64_t next = 0;
    const auto take = [&next](uint64_t bytes) {
      const uint64_t at = next;
      next += align_up(bytes, ARENA_ALIGNMENT);
      return at;
    };
    const uint32_t num_groups = max_lanes < 2 ? 2 : max_lanes;
    max_pages = (limits.max_context + IGNIS_PAGE_TOKENS - 1) / IGNIS_PAGE_TOKENS;
    mask_bytes = (uint64_t{limits.V} + 31) / 32 * 4;
    bias_stride = align_up(uint64_t{limits.V} * 8, ARENA_ALIGNMENT);
    mask_stride = align_up(mask_bytes, ARENA_ALIGNMENT);
    biases = take(max_lanes * bias_stride);
    masks = take(max_lanes * mask_stride);
    params = take(max_lanes * sizeof(SampleParams));
    groups = take(num_groups * sizeof(Group));
    tokens = take(uint64_t{limits.max_rows} * 4);
    positions = take(uint64_t{limits.max_rows} * 4);
    page_tables = take(uint64_t{max_lanes} * max_pages * 4);
    size_bytes = next;
  }

  uint64_t bias(uint32_t lane) const { return biases + lane * bias_stride; }  // ids [num], then values [num]
  uint64_t mask(uint32_t lane) const { return masks + (max_lanes - 1 - lane) * mask_stride; }
};

// Where a step's work starts and ends on the card, and the host's clock.
struct StepClock {
  cudaEvent_t started, ended;
  double begun_s, queued_s, waiting_s, done_s;  // 0: not yet
};

// One that is done, one under way, one queued ahead.
static constexpr uint32_t NUM_CLOCKS = 3;

struct Inputs {
  StepLayout layout;
  uint8_t *image, *memory;  // [size_bytes] each: pinned, and on the card
  void *bounce;             // pinned [bounce_bytes]
  uint64_t bounce_bytes;
  StepClock clocks[NUM_CLOCKS];  // in turn
  uint32_t current;  // clock of the step under way or done last
  bool has_ahead;    // the clock after it is of a step that is queued ahead
};

static StepClock &clock_at(Inputs &inputs, uint32_t distance) { return inputs.clocks[(inputs.current + distance) % NUM_CLOCKS]; }

void inputs_close(Device *device) {
  if (!device->inputs) return;
  if (device->inputs->image) cudaFreeHost(device->inputs->image);
  if (device->inputs->bounce) cudaFreeHost(device->inputs->bounce);
  for (const StepClock &clock : device->inputs->clocks) {
    if (clock.started) cudaEventDestroy(clock.started);
    if (clock.ended) cudaEventDestroy(clock.ended);
  }
  free(device->inputs);
  device->inputs = nullptr;
}

uint64_t step_bytes(const StepLimits &limits) { return StepLayout(limits).size_bytes; }

void step_place(Device &device, const StepLimits &limits, void *memory) {
  inputs_close(&device);
  Inputs *inputs = static_cast<Inputs *>(calloc(1, sizeof(Inputs)));
  if (!inputs) return keep(device, cudaErrorMemoryAllocation, __func__);
  device.inputs = inputs;
  inputs->layout = StepLayout(limits);
  inputs->memory = static_cast<uint8_t *>(memory);
  inputs->bounce_bytes = limits.max_lanes * sizeof(ignis_draw);
  const StepLayout &layout = inputs->layout;
  IGNIS_CUDA(device, cudaMallocHost(reinterpret_cast<void **>(&inputs->image), layout.size_bytes));
  IGNIS_CUDA(device, cudaMallocHost(&inputs->bounce, inputs->bounce_bytes));
  // Both sides begin alike.
  if (inputs->image) memset(inputs->image, 0, layout.size_bytes);
  IGNIS_CUDA(device, cudaMemsetAsync(memory, 0, layout.size_bytes, device.stream));
  for (StepClock &clock : inputs->clocks) {
    IGNIS_CUDA(device, cudaEventCreate(&clock.started));
    IGNIS_CUDA(device, cudaEventCreate(&clock.ended));
  }
  device.step.tokens = reinterpret_cast<int32_t *>(inputs->memory + layout.tokens);
  device.step.positions = reinterpret_cast<int32_t *>(inputs->memory + layout.positions);
  device.step.params = reinterpret_cast<SampleParams *>(inputs->memory + layout.params);
  device.step.groups = reinterpret_cast<Group *>(inputs->memory + layout.groups);
  device.step.page_tables = reinterpret_cast<int32_t *>(inputs->memory + layout.page_tables);
  device.step.max_pages = layout.max_pages;
}

void *inputs_bounce(Device &device, uint64_t size_bytes) {
  return device.inputs && size_bytes <= device.inputs->bounce_bytes ? device.inputs->bounce : nullptr;
}

static void put_groups(const Inputs &inputs, const StepInputs &step) {
  const StepLayout &layout = inputs.layout;
  Group *groups = reinterpret_cast<Group *>(inputs.image + layout.groups);
  int32_t *positions = reinterpret_cast<int32_t *>(inputs.image + layout.positions);
  int32_t *tables = reinterpret_cast<int32_t *>(inputs.image + layout.page_tables);
  const int32_t *tables_on_card = reinterpret_cast<const int32_t *>(inputs.memory + layout.page_tables);
  for (uint32_t g = 0; g < step.num_groups; g++) {
    const Group &group = step.groups[g];
    const uint32_t pages = (group.position + group.num_rows - 1) / IGNIS_PAGE_TOKENS + 1;
    memcpy(tables + uint64_t{g} * layout.max_pages, group.page_table, pages * sizeof(int32_t));
    groups[g] = Group{group.row, group.num_rows, group.position, tables_on_card + uint64_t{g} * layout.max_pages};
    for (uint32_t i = 0; i < group.num_rows; i++) positions[group.row + i] = static_cast<int32_t>(group.position + i);
  }
  if (step.num_groups == 1 && step.T > 1) {
    groups[1] = groups[0];
    groups[1].row += step.first_wanted;
    groups[1].num_rows -= step.first_wanted;
    groups[1].position += step.first_wanted;
  }
}

// Puts bytes into the image; false where they are there already, and so on the card.
static bool put(uint8_t *place, const void *bytes, uint64_t size_bytes) {
  if (memcmp(place, bytes, size_bytes) == 0) return false;
  memcpy(place, bytes, size_bytes);
  return true;
}

// A lane's biases change when it is taken, if then: they have copies of their own.
static void put_biases(Device &device, const Inputs &inputs, const ignis_sampling &sampling, uint64_t place) {
  const uint64_t half_bytes = uint64_t{sampling.num_bias} * 4;
  bool is_new = put(inputs.image + place, sampling.bias_ids, half_bytes);
  is_new |= put(inputs.image + place + half_bytes, sampling.bias_values, half_bytes);
  if (is_new) upload(device, inputs.memory + place, inputs.image + place, 2 * half_bytes);
}

// Returns where the image begins that has to go up.
static uint64_t put_draws(Device &device, const Inputs &inputs, const StepInputs &step) {
  const StepLayout &layout = inputs.layout;
  SampleParams *params = reinterpret_cast<SampleParams *>(inputs.image + layout.params);
  uint64_t first = layout.params;
  for (uint32_t i = 0; i < step.num_draws; i++) {
    const SampleRow &row = step.draws[i];
    const ignis_sampling &sampling = *row.sampling;
    const uint64_t bias = layout.bias(row.lane), mask = layout.mask(row.lane);
    if (sampling.num_bias > 0) put_biases(device, inputs, sampling, bias);
    if (sampling.permitted && put(inputs.image + mask, sampling.permitted, layout.mask_bytes) && mask < first) first = mask;
    params[i] = SampleParams{sampling.temperature,
                             sampling.top_p,
                             sampling.min_p,
                             sampling.repetition_penalty,
                             sampling.presence_penalty,
                             sampling.frequency_penalty,
                             sampling.top_k,
                             sampling.top_logprobs,
                             sampling.seed,
                             row.position,
                             sampling.num_bias,
                             sampling.permitted ? 1u : 0u,
                             0,
                             reinterpret_cast<const int32_t *>(inputs.memory + bias),
                             reinterpret_cast<const float *>(inputs.memory + bias + uint64_t{sampling.num_bias} * 4),
                             reinterpret_cast<const uint32_t *>(inputs.memory + mask),
                             row.tokens->output_counts,
                             row.tokens->is_seen};
  }
  return first;
}

void step_begin(Device &device, const StepInputs &step) {
  device.phase = step.phase;
  Inputs *inputs = device.inputs;
  if (!inputs || !inputs->image || step.T == 0) return;
  inputs->current = (inputs->current + 1) % NUM_CLOCKS;
  inputs->has_ahead = false;
  StepClock &clock = clock_at(*inputs, 0);
  clock.begun_s = now_s();
  clock.queued_s = clock.waiting_s = clock.done_s = 0;
  // The image is free: the step before has been waited for.
  memcpy(inputs->image + inputs->layout.tokens, step.tokens, uint64_t{step.T} * 4);
  put_groups(*inputs, step);
  const uint64_t first = put_draws(device, *inputs, step);
  // A call of its own: as the first node of a kept round it took 20 us more.
  const uint64_t stop = inputs->layout.page_tables + uint64_t{step.num_groups} * inputs->layout.max_pages * 4;
  upload(device, inputs->memory + first, inputs->image + first, stop - first);
  IGNIS_CUDA(device, cudaEventRecord(clock.started, device.stream));
}

// Threads take the draws' words in turn; one a row takes the row on. Its inputs are read by nothing that runs now.
static __global__ void go_on(uint32_t *kept, const ignis_draw *draws, StepMemory step, uint32_t num) {
  constexpr uint32_t WORDS = sizeof(ignis_draw) / 4;
  const uint32_t *words = reinterpret_cast<const uint32_t *>(draws);
  for (uint32_t i = threadIdx.x; i < num * WORDS; i += blockDim.x) kept[i] = words[i];
  const uint32_t row = threadIdx.x;
  if (row >= num) return;
  const int32_t token = draws[row].token;
  step.tokens[row] = token < 0 ? 0 : token;
  step.positions[row]++;
  step.groups[row].position++;
  step.params[row].position++;
}

void step_ahead(Device &device, const ignis_draw *draws, uint32_t num) {
  Inputs *inputs = device.inputs;
  if (!inputs || !inputs->bounce) return keep(device, cudaErrorInvalidValue, __func__);
  StepClock &clock = clock_at(*inputs, 1);
  inputs->has_ahead = true;
  clock.begun_s = now_s();
  clock.queued_s = clock.waiting_s = clock.done_s = 0;
  // Pinned memory is the card's to write, too: a copy would be one more thing to put on the card.
  go_on<<<1, 256, 0, device.stream>>>(static_cast<uint32_t *>(inputs->bounce), draws, device.step, num);
  IGNIS_LAUNCHED(device);
  IGNIS_CUDA(device, cudaEventRecord(clock.started, device.stream));
}

cudaEvent_t inputs_ready(const Device &device) { return clock_at(*device.inputs, 1).started; }

void step_queued(Device &device) {
  if (!device.inputs) return;
  StepClock &clock = clock_at(*device.inputs, device.inputs->has_ahead ? 1 : 0);
  if (clock.begun_s == 0 || clock.queued_s != 0) return;
  IGNIS_CUDA(device, cudaEventRecord(clock.ended, device.stream));
  clock.queued_s = now_s();
}

void step_waiting(Device &device) {
  step_queued(device);
  if (!device.inputs) return;
  StepClock &clock = clock_at(*device.inputs, 0);
  if (clock.waiting_s == 0) clock.waiting_s = now_s();
}

void step_done(Device &device) {
  if (!device.inputs) return;
  Inputs &inputs = *device.inputs;
  StepClock &clock = clock_at(inputs, 0);
  if (clock.done_s == 0) clock.done_s = now_s();
  if (!inputs.has_ahead) return;
  inputs.current = (inputs.current + 1) % NUM_CLOCKS;
  inputs.has_ahead = false;
}

void step_times(Device &device, ignis_step_times *times) {
  if (!device.inputs) return;
  const StepClock *clock = &clock_at(*device.inputs, 0);
  if (clock->done_s == 0) clock = &clock_at(*device.inputs, NUM_CLOCKS - 1);
  float device_ms = 0;
  if (clock->begun_s == 0 || clock->done_s == 0 || cudaEventElapsedTime(&device_ms, clock->started, clock->ended) != cudaSuccess) {
    cudaGetLastError();  // no step yet, or one that failed: no times
    return;
  }
  times->launch_s = clock->queued_s - clock->begun_s;
  times->wait_s = clock->done_s - clock->waiting_s;
  times->device_s = device_ms * 1e-3;
}

}  // namespace ignis
