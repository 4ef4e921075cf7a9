// linear_kernels.cpp: the inner loops of linear and of its activations, compiled once for each instruction set.
#include "linear_kernels.h"

#include "linear_float.h"
#include "linear_quantized.h"
#include "quantize.h"

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

// Each width's sums have to fit the registers: int32 and float32, 2 x 12 of 32; without VNNI int16, int32 and float32, 3 x 4.
#if defined(__AVX512VNNI__)
#define IGNIS_WIDTHS(ENTRY, DTYPE) ENTRY(DTYPE, 1), ENTRY(DTYPE, 2), ENTRY(DTYPE, 4), ENTRY(DTYPE, 6), ENTRY(DTYPE, 8), ENTRY(DTYPE, 12)
#define IGNIS_NUM_WIDTHS 6
#elif defined(__AVX2__)  // and AVX-512 without VNNI
#define IGNIS_WIDTHS(ENTRY, DTYPE) ENTRY(DTYPE, 1), ENTRY(DTYPE, 2), ENTRY(DTYPE, 4)
#define IGNIS_NUM_WIDTHS 3
#else
#define IGNIS_WIDTHS(ENTRY, DTYPE) ENTRY(DTYPE, 1), ENTRY(DTYPE, 4)
#define IGNIS_NUM_WIDTHS 2
#endif
#define IGNIS_WIDTH(DTYPE, T) T
#define IGNIS_KERNEL(DTYPE, T) multiply_quantized<DTYPE, T>
#define IGNIS_FORMAT(DTYPE) {IGNIS_WIDTHS(IGNIS_KERNEL, DTYPE)}

#if defined(__AVX512BF16__)
constexpr bool HAS_BFLOAT_DOT = true;
constexpr auto SPLIT_BFLOAT = split_bfloat;
#else
constexpr bool HAS_BFLOAT_DOT = false;
constexpr void (*SPLIT_BFLOAT)(uint16_t *, uint16_t *, const float *, uint32_t, uint32_t) = nullptr;
#endif

constexpr LinearKernels KERNELS = {
    IGNIS_NUM_WIDTHS,
    {IGNIS_WIDTHS(IGNIS_WIDTH, )},
    HAS_BFLOAT_DOT,
    quantize_tile,
    SPLIT_BFLOAT,
    // in the order of Format
    {IGNIS_FORMAT(IGNIS_Q4_0), IGNIS_FORMAT(IGNIS_Q4_1), IGNIS_FORMAT(IGNIS_Q5_0), IGNIS_FORMAT(IGNIS_Q5_1), IGNIS_FORMAT(IGNIS_Q8_0),
     IGNIS_FORMAT(IGNIS_Q4_K), IGNIS_FORMAT(IGNIS_Q5_K), IGNIS_FORMAT(IGNIS_Q6_K)},
    // in the order of FloatFormat
    {multiply_floats<WeightsF32>, multiply_floats<WeightsF16>, multiply_floats<WeightsBF16>, multiply_floats<WeightsF8>},
};

}  // namespace

const LinearKernels &linear_kernels() { return KERNELS; }

}  // namespace ignis::IGNIS_ISA_NAMESPACE
