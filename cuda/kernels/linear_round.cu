// linear_round.cu: round_linear: which kernel serves a job.
#include "linear_round_launch.cuh"
#include "pack.h"

namespace ignis {

// Theirs is the longest compilation of all: once, in linear_round_{floats,four,five}.cu.
extern template void launch_round<IGNIS_F16>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_F16>(uint32_t);
extern template void launch_round<IGNIS_BF16>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_BF16>(uint32_t);
extern template void launch_round<IGNIS_Q8_0>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q8_0>(uint32_t);
extern template void launch_round<IGNIS_F8_E4M3>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_F8_E4M3>(uint32_t);
extern template void launch_round<IGNIS_Q4_0>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q4_0>(uint32_t);
extern template void launch_round<IGNIS_Q4_1>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q4_1>(uint32_t);
extern template void launch_round<IGNIS_Q4_K>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q4_K>(uint32_t);
extern template void launch_round<IGNIS_Q5_0>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q5_0>(uint32_t);
extern template void launch_round<IGNIS_Q5_1>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q5_1>(uint32_t);
extern template void launch_round<IGNIS_Q5_K>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q5_K>(uint32_t);
extern template void launch_round<IGNIS_Q6_K>(RoundLaunch);
extern template bool round_has_pairs<IGNIS_Q6_K>(uint32_t);

static void launch(ignis_dtype dtype, const RoundLaunch &launch) {
  switch (dtype) {
    case IGNIS_F32: break;
    case IGNIS_F16: launch_round<IGNIS_F16>(launch); break;
    case IGNIS_BF16: launch_round<IGNIS_BF16>(launch); break;
    case IGNIS_Q8_0: launch_round<IGNIS_Q8_0>(launch); break;
    case IGNIS_F8_E4M3: launch_round<IGNIS_F8_E4M3>(launch); break;
    case IGNIS_Q4_0: launch_round<IGNIS_Q4_0>(launch); break;
    case IGNIS_Q4_1: launch_round<IGNIS_Q4_1>(launch); break;
    case IGNIS_Q4_K: launch_round<IGNIS_Q4_K>(launch); break;
    case IGNIS_Q5_0: launch_round<IGNIS_Q5_0>(launch); break;
    case IGNIS_Q5_1: launch_round<IGNIS_Q5_1>(launch); break;
    case IGNIS_Q5_K: launch_round<IGNIS_Q5_K>(launch); break;
    case IGNIS_Q6_K: launch_round<IGNIS_Q6_K>(launch); break;
  }
}

void round_linear(const LinearJob *jobs, uint32_t num, const RoundInput &input, const float *x, const RoundOutlet &outlet,
                  uint32_t num_multiprocessors, uint32_t code, cudaStream_t stream) {
  if (input.T == 0) return;
  RoundLaunch each{};
  each.num_multiprocessors = num_multiprocessors;
  each.code = code;
  each.stream = stream;
  RoundProduct &args = each.args;
  args.in = input;
  args.in_layout = round_layout(input.K);
  args.outlet = outlet;
  args.out_layout = round_layout(outlet.next.K);
  uint32_t done = 0;  // bits of the jobs that are launched
  for (uint32_t i = 0; i < num; i++) {
    if (done >> i & 1) continue;
    // Jobs of one type share a launch.
    const ignis_dtype dtype = jobs[i].dtype;
    if (dtype == IGNIS_F32) {
      linear_floats(jobs[i], x, input.T, input.K, stream);
      continue;
    }
    args.num = 0;
    for (uint32_t j = i; j < num && args.num < MAX_ROUND_JOBS; j++) {
      if ((done >> j & 1) || jobs[j].dtype != dtype) continue;
      done |= 1u << j;
      const uint8_t *packed = static_cast<const uint8_t *>(jobs[j].packed);
      const float *row_scales = reinterpret_cast<const float *>(packed + row_scales_offset(dtype, jobs[j].rows, input.K));
      args.job[args.num++] = RoundProduct::Job{packed, row_scales, jobs[j].y, jobs[j].rows, jobs[j].ldy, jobs[j].accumulates};
    }
    launch(dtype, each);
  }
}

bool round_gates(ignis_dtype dtype, uint32_t code) {
  switch (dtype) {
    case IGNIS_F32: return false;
    case IGNIS_F16: return round_has_pairs<IGNIS_F16>(code);
    case IGNIS_BF16: return round_has_pairs<IGNIS_BF16>(code);
    case IGNIS_Q8_0: return round_has_pairs<IGNIS_Q8_0>(code);
    case IGNIS_F8_E4M3: return round_has_pairs<IGNIS_F8_E4M3>(code);
    case IGNIS_Q4_0: return round_has_pairs<IGNIS_Q4_0>(code);
    case IGNIS_Q4_1: return round_has_pairs<IGNIS_Q4_1>(code);
    case IGNIS_Q4_K: return round_has_pairs<IGNIS_Q4_K>(code);
    case IGNIS_Q5_0: return round_has_pairs<IGNIS_Q5_0>(code);
    case IGNIS_Q5_1: return round_has_pairs<IGNIS_Q5_1>(code);
    case IGNIS_Q5_K: return round_has_pairs<IGNIS_Q5_K>(code);
    case IGNIS_Q6_K: return round_has_pairs<IGNIS_Q6_K>(code);
  }
  return false;
}

}  // namespace ignis
