// linear_round_four.cu: the kernels of the four-bit types.
#include "linear_round_launch.cuh"

namespace ignis {

template void launch_round<IGNIS_Q4_0>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q4_0>(uint32_t);
template void launch_round<IGNIS_Q4_1>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q4_1>(uint32_t);
template void launch_round<IGNIS_Q4_K>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q4_K>(uint32_t);

}  // namespace ignis
