// linear_round_launch.cuh: how the kernels of linear_round.cuh are launched. Each unit that includes it holds those of some weight types.
#pragma once

#include <cuda_runtime.h>

#include "linear_round.cuh"

namespace ignis {

struct RoundLaunch {
  RoundProduct args;  // its items are filled by the launcher
  uint32_t num_multiprocessors, code;
  cudaStream_t stream;
};

template <ignis_dtype DTYPE>
void launch_round(RoundLaunch launch);
// Whether two tiles at a time have room.
template <ignis_dtype DTYPE>
bool round_has_pairs(uint32_t code);

inline void set_round_items(RoundProduct *args, uint32_t tiles_an_item) {
  args->first_item[0] = 0;
  for (uint32_t i = 0; i < MAX_ROUND_JOBS; i++)
    args->first_item[i + 1] = args->first_item[i] + (i < args->num ? (num_tiles(args->job[i].rows) + tiles_an_item - 1) / tiles_an_item : 0);
  args->num_items = args->first_item[args->num];
  if (args->outlet.kind == RoundOutlet::GATE) args->num_items = args->first_item[1] = args->first_item[2] = num_tiles(args->job[0].rows);
}

template <ignis_dtype DTYPE, uint32_t TILES>
static void launch_round_tiles(RoundLaunch &launch) {
  set_round_items(&launch.args, TILES);
  uint32_t shared_bytes = RoundMemory<DTYPE, TILES>::size_bytes(launch.code);
  const uint32_t blocks = shared_bytes > shared_bytes_of(launch.code, 2) ? 1 : round_blocks(TILES);
  // At least so much that not more blocks come than are meant: with programmatic launches they would pile up on some multiprocessors.
  const uint32_t least_bytes = (shared_kb(launch.code) + 1) * 1024 / (blocks + 1);
  if (shared_bytes < least_bytes) shared_bytes = least_bytes;
  cudaFuncSetAttribute(round_linear_kernel<DTYPE, TILES>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  // Equal turns where they leave few places empty: 768 items on 264 places are three turns of 256 blocks. Else a block on every place, some
  // of which have an item more than others.
  const uint32_t items = launch.args.num_items, resident = blocks * launch.num_multiprocessors, turns = (items + resident - 1) / resident;
  const uint32_t equal = (items + turns - 1) / turns, grid = items <= resident || equal * 20 >= resident * 19 ? equal : resident;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(ROUND_WARPS * 32);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = launch.stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = overlaps_launches(launch.code) ? 1 : 0;
  cudaLaunchKernelEx(&config, round_linear_kernel<DTYPE, TILES>, static_cast<const RoundProduct>(launch.args));
}

template <ignis_dtype DTYPE, uint32_t TILES>
static bool has_room(uint32_t code) {
  return RoundMemory<DTYPE, TILES>::size_bytes(code) <= shared_bytes_of(code, 1);
}

template <ignis_dtype DTYPE>
bool round_has_pairs(uint32_t code) {
  return has_room<DTYPE, 2>(code);
}

template <ignis_dtype DTYPE>
void launch_round(RoundLaunch launch) {
  static_assert(fits_everywhere([](uint32_t code) { return RoundMemory<DTYPE, 1>::size_bytes(code); }));
  // As many tiles at a time as give every multiprocessor the same share. Bits do not depend on it.
  set_round_items(&launch.args, 1);
  constexpr uint32_t a_half = HALF_PIECES / step_pieces(DTYPE);
  const uint32_t halves = num_records(DTYPE, launch.args.in.K) * (weight_layout(DTYPE).record_cols / HALF_COLS);
  launch.args.slice = slice_halves(halves) * a_half;
  launch.args.num_slices = (halves + slice_halves(halves) - 1) / slice_halves(halves);
  const uint32_t tiles = launch.args.num_items, multiprocessors = launch.num_multiprocessors;
  if (launch.args.outlet.kind == RoundOutlet::GATE)
    launch_round_tiles<DTYPE, 2>(launch);
  else if (tiles >= 4 * multiprocessors && has_room<DTYPE, 2>(launch.code))
    launch_round_tiles<DTYPE, 2>(launch);
  else if (tiles > 2 * multiprocessors && tiles <= 3 * multiprocessors && is_nibbles(DTYPE) && has_room<DTYPE, 2>(launch.code))
    launch_round_tiles<DTYPE, 2>(launch);  // their arithmetic takes longer than their bytes: more warps, if not evenly spread
  else if (tiles > 2 * multiprocessors && tiles <= 3 * multiprocessors && has_room<DTYPE, 3>(launch.code))
    launch_round_tiles<DTYPE, 3>(launch);
  else
    launch_round_tiles<DTYPE, 1>(launch);
}

}  // namespace ignis
