// gated.cuh: silu(gate) up.
#pragma once

namespace ignis {

// Within some 2^-20 of the value: six instructions where expf and a division are forty.
static __device__ __forceinline__ float gated(float gate, float up) {
  float power, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(gate * -1.44269504f));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
  return gate * inverse * up;
}

}  // namespace ignis
