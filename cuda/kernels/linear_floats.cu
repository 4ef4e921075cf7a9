// linear_floats.cu: the kernels of F16, BF16 and the types of eight bits.
#include "linear_dispatch.cuh"

namespace ignis {

template void launch_linear<IGNIS_F16>(LinearLaunch);
template void launch_linear<IGNIS_BF16>(LinearLaunch);
template void launch_linear<IGNIS_F8_E4M3>(LinearLaunch);
template void launch_linear<IGNIS_Q8_0>(LinearLaunch);

}  // namespace ignis
