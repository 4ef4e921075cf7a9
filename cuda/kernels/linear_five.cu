// linear_five.cu: the kernels of the types of five and six bits.
#include "linear_dispatch.cuh"

namespace ignis {

template void launch_linear<IGNIS_Q5_0>(LinearLaunch);
template void launch_linear<IGNIS_Q5_1>(LinearLaunch);
template void launch_linear<IGNIS_Q5_K>(LinearLaunch);
template void launch_linear<IGNIS_Q6_K>(LinearLaunch);

}  // namespace ignis
