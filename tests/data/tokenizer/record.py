"""Records what the reference tokenizer makes of the corpus, into the JSON files beside this script.

The reference is llama.cpp. Build reference.cpp against its libllama (the command is in that file), then:

    python tests/data/tokenizer/record.py ./reference models/SmolLM2-135M-Instruct.Q4_1.gguf
"""

import json
import struct
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import gguf
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from ignis.tokenizer.pretokenizers import RULES

HERE = Path(__file__).parent
CORPUS: list[str] = json.loads((HERE / "corpus.json").read_text(encoding="utf-8"))


def reference_ids(program: str, model: Path, texts: list[str]) -> list[list[int]]:
    data = b"".join(struct.pack("<I", len(text)) + text for text in (text.encode() for text in texts))
    output = subprocess.run([program, str(model)], input=data, capture_output=True, check=True).stdout
    return [[int(number) for number in line.split()] for line in output.decode().splitlines()]


def train_vocabulary() -> tuple[list[str], list[str]]:
    """Tokens and merges that cross every border a pre-tokenizer may draw: trained on text that is not cut at all."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, min_frequency=1
    )
    tokenizer.train_from_iterator([text * 3 for text in CORPUS], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    # No merge is left that leads to this token: only a rule that takes whole pieces finds it.
    assert "zqz" in tokens
    return tokens, [" ".join(pair) for pair in model["merges"] if "".join(pair) != "zqz"]


def write_vocabulary(path: Path, pre_tokenizer: str, tokens: list[str], merges: list[str]) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_block_count(1)
    writer.add_head_count(1)
    writer.add_feed_forward_length(64)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(64)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre_tokenizer)
    writer.add_token_list(tokens)
    writer.add_token_types([1] * len(tokens))
    writer.add_token_merges(merges)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(program: str, model: str) -> None:
    ids = reference_ids(program, Path(model), CORPUS)
    (HERE / "smollm2.json").write_text(json.dumps(ids, separators=(",", ":")) + "\n")

    tokens, merges = train_vocabulary()
    recorded: dict[str, list[list[int]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rule in RULES.items():
            path = Path(folder) / "vocabulary.gguf"
            write_vocabulary(path, name, tokens, merges)
            # The reference never composes; the models that these names stand for do.
            texts = [unicodedata.normalize("NFC", text) if rule.composes else text for text in CORPUS]
            recorded[name] = reference_ids(program, path, texts)
    first = {json.dumps(ids): name for name, ids in reversed(recorded.items())}
    same_as = {name: first[json.dumps(ids)] for name, ids in recorded.items()}
    content = {
        "tokens": tokens,
        "merges": merges,
        "same_as": same_as,
        "ids": {name: recorded[name] for name in sorted(set(same_as.values()))},
    }
    (HERE / "pre_tokenizers.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
