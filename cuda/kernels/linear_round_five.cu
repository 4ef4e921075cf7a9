// linear_round_five.cu: the kernels of the types of five and six bits.
#include "linear_round_launch.cuh"

namespace ignis {

template void launch_round<IGNIS_Q5_0>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q5_0>(uint32_t);
template void launch_round<IGNIS_Q5_1>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q5_1>(uint32_t);
template void launch_round<IGNIS_Q5_K>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q5_K>(uint32_t);
template void launch_round<IGNIS_Q6_K>(RoundLaunch);
template bool round_has_pairs<IGNIS_Q6_K>(uint32_t);

}  // namespace ignis
