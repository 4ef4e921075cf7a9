// Llama and its like (SmolLM2): the dense decoder as it is.
#include "decoder.h"

namespace ignis {

static void forward(Decoder &decoder, const Step &step) {
  begin(decoder, step);
  for (uint32_t layer = 0; layer < decoder.shape.num_layers; layer++) {
    project(decoder, step, layer);
    attend(decoder, step, layer);
    feed_forward(decoder, step, layer);
  }
  end(decoder, step);
}

extern const Program llama_program = {list_decoder_tensors, forward};

}  // namespace ignis
