"""The default model's file, read as it is."""

from pathlib import Path

from ignis.models.base import Architecture, DType, GgufVocabulary
from ignis.models.registry import open_checkpoint


def test_the_default_model_says_what_it_is(real_model: Path) -> None:
    checkpoint = open_checkpoint(real_model)
    shape = checkpoint.shape
    assert (checkpoint.name, checkpoint.format) == ("Smollm2 135M 8k Lc100K Mix1 Ep2", "GGUF Q4_1")
    assert (shape.architecture, shape.num_layers, shape.hidden_size) == (Architecture.LLAMA, 30, 576)
    assert (shape.num_heads, shape.num_kv_heads, shape.head_dim) == (9, 3, 64)
    assert (shape.vocab_size, shape.context_tokens) == (49152, 8192)
    assert checkpoint.num_parameters == 134_515_008
    assert len(checkpoint.tensors) == 272
    assert {tensor.dtype for tensor in checkpoint.tensors} == {DType.F32, DType.Q4_1, DType.Q8_0}
    vocabulary = checkpoint.vocabulary
    assert isinstance(vocabulary, GgufVocabulary)
    assert (len(vocabulary.tokens), len(vocabulary.merges)) == (49152, 48900)
    assert not vocabulary.adds_bos
    assert vocabulary.pre_tokenizer == "smollm"
    assert (checkpoint.special.bos, checkpoint.special.eos, checkpoint.special.stop_ids) == (1, 2, {0, 2})
    assert checkpoint.chat_template is not None
    checkpoint.close()
