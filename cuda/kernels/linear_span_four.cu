// linear_span_four.cu: the prefill kernels of the four-bit types.
#include "linear_span_dispatch.cuh"

namespace ignis {

template void launch_span<IGNIS_Q4_0>(SpanLaunch);
template void launch_span<IGNIS_Q4_1>(SpanLaunch);
template void launch_span<IGNIS_Q4_K>(SpanLaunch);

}  // namespace ignis
