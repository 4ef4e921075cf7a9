// linear_span_five.cu: the prefill kernels of the types of five and six bits.
#include "linear_span_dispatch.cuh"

namespace ignis {

template void launch_span<IGNIS_Q5_0>(SpanLaunch);
template void launch_span<IGNIS_Q5_1>(SpanLaunch);
template void launch_span<IGNIS_Q5_K>(SpanLaunch);
template void launch_span<IGNIS_Q6_K>(SpanLaunch);

}  // namespace ignis
