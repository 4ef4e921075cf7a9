// check.cpp: what a load must satisfy before anything is allocated. Every message names the field or the tensor.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/reader.h"
#include "../base/status.h"
#include "../quant/dequantize.h"
#include "../quant/formats.h"
#include "model.h"

namespace ignis {

const Program *program_of(uint32_t architecture) {
  switch (architecture) {
    case IGNIS_ARCH_LLAMA: return &llama_program;
    case IGNIS_ARCH_QWEN3: return &qwen3_program;
  }
  return nullptr;
}

// Above these a shape is a damaged file, and the products below stay far from 64 bits. MAX_SIZE is also the longest row that every
// kernel takes (kernels/linear_span_prepare.cu).
static constexpr uint32_t MAX_LAYERS = 1024, MAX_SIZE = 1u << 17, MAX_HEADS = 4096, MAX_HEAD_DIM = 1024, MAX_VOCAB = 1u << 24;
static constexpr uint32_t MAX_CONTEXT = 1u << 24;  // a float32 holds every position up to here
static constexpr uint32_t MAX_THREADS = 1024;

static ignis_status check_range(const char *field, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return IGNIS_OK;
  return fail(IGNIS_INVALID, "%s is %llu; allowed is %llu to %llu", field, static_cast<unsigned long long>(value),
              static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
}

static ignis_status check_size(const char *name, uint64_t size, uint64_t expected) {
  if (size == expected) return IGNIS_OK;
  return fail(IGNIS_INVALID, "%s.size is %llu; this leaf's is %llu", name, static_cast<unsigned long long>(size),
              static_cast<unsigned long long>(expected));
}

#define CHECK(call) \
  if (const ignis_status status = (call); status != IGNIS_OK) return status

static ignis_status check_shape(const ignis_shape &shape) {
  CHECK(check_size("ignis_shape", shape.size, sizeof shape));
  if (!program_of(shape.architecture)) return fail(IGNIS_UNSUPPORTED, "architecture %u is unknown to this leaf", shape.architecture);
  CHECK(check_range("num_layers", shape.num_layers, 1, MAX_LAYERS));
  CHECK(check_range("hidden_size", shape.hidden_size, 1, MAX_SIZE));
  CHECK(check_range("ffn_size", shape.ffn_size, 1, MAX_SIZE));
  CHECK(check_range("num_heads", shape.num_heads, 1, MAX_HEADS));
  CHECK(check_range("num_kv_heads", shape.num_kv_heads, 1, shape.num_heads));
  CHECK(check_range("head_dim", shape.head_dim, 2, MAX_HEAD_DIM));
  CHECK(check_range("num_heads * head_dim", uint64_t{shape.num_heads} * shape.head_dim, 2, MAX_SIZE));
  CHECK(check_range("vocab_size", shape.vocab_size, 1, MAX_VOCAB));
  if (shape.num_heads % shape.num_kv_heads != 0)
    return fail(IGNIS_INVALID, "num_kv_heads %u does not divide num_heads %u", shape.num_kv_heads, shape.num_heads);
  if (shape.head_dim % 2 != 0) return fail(IGNIS_INVALID, "head_dim %u is odd", shape.head_dim);
  if (!(shape.rms_eps > 0) || !isfinite(shape.rms_eps)) return fail(IGNIS_INVALID, "rms_eps is not a positive number");
  if (shape.rope_pairs != IGNIS_ROPE_HALVES && shape.rope_pairs != IGNIS_ROPE_ADJACENT)
    return fail(IGNIS_INVALID, "rope_pairs %u is unknown", shape.rope_pairs);
  if (!(shape.rope_scale > 0) || !isfinite(shape.rope_scale)) return fail(IGNIS_INVALID, "rope_scale is not a positive number");
  if (!shape.rope_inv_freq) return fail(IGNIS_INVALID, "rope_inv_freq is null");
  for (uint32_t i = 0; i < shape.head_dim / 2; i++)
    if (!isfinite(shape.rope_inv_freq[i])) return fail(IGNIS_INVALID, "rope_inv_freq[%u] is not finite", i);
  return IGNIS_OK;
}

static ignis_status check_params(const ignis_load_params &params) {
  CHECK(check_size("ignis_load_params", params.size, sizeof params));
  if (params.progress) CHECK(check_size("ignis_load_progress", params.progress->size, sizeof *params.progress));
  if (!params.shape) return fail(IGNIS_INVALID, "shape is null");
  CHECK(check_shape(*params.shape));
  if (!params.files || params.num_files == 0) return fail(IGNIS_INVALID, "no files");
  if (!params.tensors || params.num_tensors == 0) return fail(IGNIS_INVALID, "no tensors");
  for (uint32_t i = 0; i < params.num_files; i++)
    if (!params.files[i].base && params.seed == 0) return fail(IGNIS_INVALID, "files[%u].base is null", i);
  CHECK(check_range("num_pages", params.num_pages, 1, INT32_MAX));
  CHECK(check_range("num_host_pages", params.num_host_pages, 0, INT32_MAX));
  if (params.kv_dtype != IGNIS_F32 && params.kv_dtype != IGNIS_F16 && params.kv_dtype != IGNIS_BF16 && params.kv_dtype != IGNIS_F8_E4M3)
    return fail(IGNIS_UNSUPPORTED, "kv_dtype %u is none of F32, F16, BF16 and F8_E4M3", params.kv_dtype);
  CHECK(check_range("max_context", params.max_context, 1, MAX_CONTEXT));
  CHECK(check_range("max_span", params.max_span, 1, MAX_CONTEXT));
  CHECK(check_range("max_lanes", params.max_lanes, 1, IGNIS_MAX_LANES));
  return check_range("num_threads", params.num_threads, 0, MAX_THREADS);
}

static ignis_status check_place(const ignis_load_params &params, const char *name, const char *part, uint32_t file, uint64_t offset,
                                uint64_t size_bytes) {
  if (file >= params.num_files) return fail(IGNIS_INVALID, "tensor %s%s is in file %u of %u", name, part, file, params.num_files);
  const uint64_t file_bytes = params.files[file].size_bytes;
  if (offset <= file_bytes && size_bytes <= file_bytes - offset) return IGNIS_OK;
  return fail(IGNIS_INVALID, "tensor %s%s lies outside its file: %llu bytes at %llu of %llu", name, part,
              static_cast<unsigned long long>(size_bytes), static_cast<unsigned long long>(offset),
              static_cast<unsigned long long>(file_bytes));
}

// Above it a product of a code and its scale may be infinite.
static constexpr float MAX_SCALE = 0x1p100f;

// The block scales of a tensor whose place and size are checked, or that it has none.
static ignis_status check_scales(const ignis_load_params &params, const ignis_tensor &tensor) {
  if (!has_block_scales(static_cast<ignis_dtype>(tensor.dtype))) {
    if (tensor.scale_dtype == 0 && tensor.scale_file == 0 && tensor.scale_offset == 0 && tensor.scale_size_bytes == 0) return IGNIS_OK;
    return fail(IGNIS_INVALID, "tensor %s has block scales; its dtype %u has none", tensor.name, tensor.dtype);
  }
  const ignis_dtype dtype = static_cast<ignis_dtype>(tensor.scale_dtype);
  if (dtype != IGNIS_F32 && dtype != IGNIS_F16 && dtype != IGNIS_BF16)
    return fail(IGNIS_UNSUPPORTED, "tensor %s has scales of dtype %u; float32, float16 and bfloat16 are read", tensor.name, tensor.scale_dtype);
  const uint64_t num = uint64_t{num_scale_blocks(static_cast<uint32_t>(tensor.rows))} * num_scale_blocks(static_cast<uint32_t>(tensor.cols));
  if (tensor.scale_size_bytes != num * block_bytes(dtype))
    return fail(IGNIS_INVALID, "tensor %s has %llu bytes of scales; its shape needs %llu", tensor.name,
                static_cast<unsigned long long>(tensor.scale_size_bytes), static_cast<unsigned long long>(num * block_bytes(dtype)));
  CHECK(check_place(params, tensor.name, "'s scale", tensor.scale_file, tensor.scale_offset, tensor.scale_size_bytes));
  const ignis_file &file = params.files[tensor.scale_file];
  if (!file.base) return IGNIS_OK;
  constexpr uint64_t MOST = 1024;
  uint8_t stored[MOST * sizeof(float)];
  float values[MOST];
  for (uint64_t start = 0; start < num; start += MOST) {
    const uint64_t count = num - start < MOST ? num - start : MOST, offset = tensor.scale_offset + start * block_bytes(dtype);
    const int error =
        read_now(ReadJob{file.descriptor, offset, static_cast<const uint8_t *>(file.base) + offset, count * block_bytes(dtype)}, stored);
    if (error) return reading_failed(error);
    dequantize(values, stored, dtype, count);
    for (uint64_t i = 0; i < count; i++)
      if (!(fabsf(values[i]) < MAX_SCALE))
        return fail(IGNIS_INVALID, "tensor %s: scale %llu is not a number below 2^100", tensor.name, static_cast<unsigned long long>(start + i));
  }
  return IGNIS_OK;
}

// A tensor against its file and against the slot that it is for.
static ignis_status check_tensor(const ignis_load_params &params, const ignis_tensor &tensor, const TensorSlot &slot) {
  const ignis_dtype dtype = static_cast<ignis_dtype>(tensor.dtype);
  const uint32_t block = block_values(dtype);
  if (block == 0) return fail(IGNIS_UNSUPPORTED, "tensor %s: dtype %u is unknown to this leaf", tensor.name, tensor.dtype);
  if (tensor.rows != slot.rows || tensor.cols != slot.cols)
    return fail(IGNIS_INVALID, "tensor %s is [%llu, %llu]; the shape asks for [%u, %u]", tensor.name,
                static_cast<unsigned long long>(tensor.rows), static_cast<unsigned long long>(tensor.cols), slot.rows, slot.cols);
  if (slot.cols % block != 0)
    return fail(IGNIS_INVALID, "tensor %s: rows of %u values are not whole blocks of %u", tensor.name, slot.cols, block);
  const uint64_t expected = slot.rows * row_bytes(dtype, slot.cols);  // both are bounded by check_shape
  if (tensor.size_bytes != expected)
    return fail(IGNIS_INVALID, "tensor %s holds %llu bytes; its dtype and shape need %llu", tensor.name,
                static_cast<unsigned long long>(tensor.size_bytes), static_cast<unsigned long long>(expected));
  CHECK(check_place(params, tensor.name, "", tensor.file, tensor.offset, tensor.size_bytes));
  if (has_block_scales(dtype) && (slot.vector || slot.is_table))
    return fail(IGNIS_UNSUPPORTED, "tensor %s is F8_E4M3; only linear layers are read so", tensor.name);
  return check_scales(params, tensor);
}

static uint32_t find_slot(const Binding &binding, const char *name) {
  for (uint32_t i = 0; i < binding.num; i++)
    if (strcmp(binding.slots[i].name, name) == 0) return i;
  return binding.num;
}

static ignis_status bind(Binding *binding, const ignis_load_params &params) {
  for (uint32_t i = 0; i < binding->num; i++) binding->tensors[i] = NO_TENSOR;
  for (uint32_t i = 0; i < params.num_tensors; i++) {
    const ignis_tensor &tensor = params.tensors[i];
    if (!tensor.name) return fail(IGNIS_INVALID, "tensors[%u].name is null", i);
    // The caller has folded it into rope_inv_freq.
    if (strcmp(tensor.name, "rope_freqs.weight") == 0) continue;
    const uint32_t slot = find_slot(*binding, tensor.name);
    // A weight that is left out, a bias say, would give a different model in silence.
    if (slot == binding->num) return fail(IGNIS_UNSUPPORTED, "tensor %s has no place in this architecture", tensor.name);
    if (binding->tensors[slot] != NO_TENSOR) return fail(IGNIS_INVALID, "tensor %s is there twice", tensor.name);
    CHECK(check_tensor(params, tensor, binding->slots[slot]));
    binding->tensors[slot] = i;
  }
  for (uint32_t i = 0; i < binding->num; i++)
    if (binding->tensors[i] == NO_TENSOR && !binding->slots[i].is_optional)
      return fail(IGNIS_INVALID, "tensor %s is missing", binding->slots[i].name);
  return IGNIS_OK;
}

ignis_status check_load(Binding *binding, const ignis_load_params *params) {
  *binding = Binding{};
  if (!params) return fail(IGNIS_INVALID, "params is null");
  CHECK(check_params(*params));
  const ignis_shape &shape = *params->shape;
  const Program *program = program_of(shape.architecture);
  const uint32_t num = program->list_tensors(nullptr, &binding->weights, shape);
  binding->slots = static_cast<TensorSlot *>(calloc(num, sizeof(TensorSlot)));
  binding->tensors = static_cast<uint32_t *>(calloc(num, sizeof(uint32_t)));
  binding->weights.layers = static_cast<DecoderLayer *>(calloc(shape.num_layers, sizeof(DecoderLayer)));
  ignis_status status = IGNIS_OK;
  if (!binding->slots || !binding->tensors || !binding->weights.layers) {
    status = fail(IGNIS_NO_MEMORY, "no memory for the list of %u tensors", num);
  } else {
    binding->num = program->list_tensors(binding->slots, &binding->weights, shape);
    status = bind(binding, *params);
  }
  if (status != IGNIS_OK) binding_close(binding);
  return status;
}

void binding_close(Binding *binding) {
  free(binding->slots);
  free(binding->tensors);
  free(binding->weights.layers);
  *binding = Binding{};
}

}  // namespace ignis
