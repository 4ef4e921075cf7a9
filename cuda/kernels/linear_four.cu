// linear_four.cu: the kernels of the four-bit types.
#include "linear_dispatch.cuh"

namespace ignis {

template void launch_linear<IGNIS_Q4_0>(LinearLaunch);
template void launch_linear<IGNIS_Q4_1>(LinearLaunch);
template void launch_linear<IGNIS_Q4_K>(LinearLaunch);

}  // namespace ignis
