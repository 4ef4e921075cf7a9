// shapes.cuh: the linear layers of the models whose rounds are timed.
#pragma once

#include <stdint.h>

#include <array>

struct Operator {
  const char *name;
  uint32_t num;
  uint32_t rows[3], K;
};
struct Shapes {
  const char *name;
  uint32_t H, Q, KV, F, V, num_layers;
};
static const Shapes SHAPES[] = {{"Qwen3-8B", 4096, 4096, 1024, 12288, 151936, 36}, {"Qwen3-32B", 5120, 8192, 1024, 25600, 151936, 64}};

// Those of a layer, and the head.
static std::array<Operator, 5> operators_of(const Shapes &shapes) {
  const uint32_t H = shapes.H, Q = shapes.Q, KV = shapes.KV, F = shapes.F;
  return {{{"qkv", 3, {Q, KV, KV}, H}, {"o", 1, {H, 0, 0}, Q}, {"gate_up", 2, {F, F, 0}, H}, {"down", 1, {H, 0, 0}, F}, {"head", 1, {shapes.V, 0, 0}, H}}};
}
