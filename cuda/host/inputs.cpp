// inputs.cpp: inputs of linear layers that are made on the way, and results that are inputs: on the CPU, one operator after the other.
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

void linear_norm(Device &device, const Linear &job, Activations *a, float *y, const float *w, float eps, const Matrix *const *users, uint32_t num) {
  linear(device, &job, 1, *a);
  prepare_norm(device, a, y, job.y, w, eps, a->T, job.w->rows, users, num);
}

void linear_swiglu(Device &device, const Linear &gate, const Linear &up, Activations *a, float *y, const Matrix *const *users, uint32_t num) {
  const Linear jobs[] = {gate, up};
  linear(device, jobs, 2, *a);
  prepare_swiglu(device, a, y, gate.y, up.y, a->T, gate.w->rows, users, num);
}

}  // namespace ignis
