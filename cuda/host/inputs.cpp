// inputs.cpp: inputs of linear layers that are made on the way: on the CPU, one operator after the other.
#include "../ops/ops.h"

namespace ignis {

void prepare_norm(Device &device, Activations *a, float *y, const float *x, const float *w, float eps, uint32_t T, uint32_t K,
                  const Matrix *const *users, uint32_t num) {
  rms_norm(device, y, x, w, T, K, eps);
  prepare(device, a, y, T, K, users, num);
}

void prepare_swiglu(Device &device, Activations *a, float *y, const float *gate, const float *up, uint32_t T, uint32_t K,
                    const Matrix *const *users, uint32_t num) {
  swiglu(device, y, gate, up, T, K);
  prepare(device, a, y, T, K, users, num);
}

}  // namespace ignis
