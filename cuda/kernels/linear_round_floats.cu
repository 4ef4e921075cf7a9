// linear_round_floats.cu: the kernels of F16, BF16, F8_E4M3 and Q8_0.
#include "linear_round_launch.cuh"

namespace ignis {

template void launch_round<IGNIS_F16>(RoundLaunch);
template bool round_has_pairs<IGNIS_F16>(uint32_t);
template void launch_round<IGNIS_BF16>(RoundLaunch);
template bool round_has_pairs<IGNIS_BF16>(uint32_t);
template void launch_round<IGNIS_F8_E4M3>(RoundLaunch);
template bool round_has_pairs<IGNIS_F8_E4M3>(uint32_t);
template void launch_round<IGNIS_Q8_0>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q8_0>(uint32_t);

}  // namespace ignis
