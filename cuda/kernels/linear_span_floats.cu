// linear_span_floats.cu: the prefill kernels of F16, BF16 and the types of eight bits.
#include "linear_span_dispatch.cuh"

namespace ignis {

template void launch_span<IGNIS_F16>(SpanLaunch);
template void launch_span<IGNIS_BF16>(SpanLaunch);
template void launch_span<IGNIS_Q8_0>(SpanLaunch);
template void launch_span<IGNIS_F8_E4M3>(SpanLaunch);

}  // namespace ignis
