"""A model of a few kilobytes as Hugging Face lays it out, which a server loads and answers with."""

import json
from dataclasses import replace
from pathlib import Path

import tokenizers

from tests.models.files import rounded, write_folder
from tests.models.tiny import LLAMA, TinyConfig, make

SMALL = replace(LLAMA, name="small", vocab_size=260)
"""The tokenizer has 258 of them."""


def write_small_folder(path: Path, config: TinyConfig = SMALL, dtype: str = "F32") -> None:
    """Random weights, a byte-level tokenizer and a template."""
    path.parent.mkdir(parents=True)
    tiny = make(config)
    write_folder(tiny if dtype == "F32" else rounded(tiny, dtype), path, dtype)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.save(str(path / "tokenizer.json"))
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    (path / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<s>", "eos_token": "</s>", "chat_template": template})
    )
