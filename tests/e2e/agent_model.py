"""A checkpoint whose weights are made by hand: it calls a tool, reads the result, and answers. Whatever it is asked.

What a client does with a tool call can so be tested from end to end on the real server, with a small model that never
hesitates. Its vocabulary is the default model's, and some tokens more: pieces of the two texts that it
knows. One layer, no feed-forward. Features of the residual stream:

    0           1 in every token
    1           1 in a line break: what a prompt ends with
    2, 3        1 in <tools>, which the template writes where there are tools, and in <tool_response>
    4, 5        the share of the context that 2 and 3 have: attention looks at everything alike, for q and k are 0
    6, 7, ...   1 in the first, second, ... piece

The head follows each piece with the next one, a line break with the call if 4 is not 0 and 5 is, else with the answer.
"""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np

HIDDEN, HEADS, HEAD_DIM, FEED_FORWARD = 128, 2, 64, 64
CONTEXT_TOKENS = 131_072
PIECE_CHARACTERS = 6
START, TOOLS, RESULT, HAS_TOOLS, HAS_RESULT, FIRST_PIECE = 1, 2, 3, 4, 5, 6
# Each outweighs all that stands before it, in a context of any length.
ANSWERS, CALLS, FOLLOWS, NEVER = 1e4, 1e10, 1e13, 1e14


def write_agent_model(real_model: Path, path: Path, template: str, call: str, answer: str) -> Path:
    """Writes a GGUF file.

    Args:
        real_model: where the vocabulary comes from.
        template: the chat template, which writes <tools> and <tool_response>.
        call: the text of the tool call, its tags included.
        answer: what is said without tools, or after a result.
    """
    known = gguf.GGUFReader(real_model)
    tokens = _strings(known, "tokenizer.ggml.tokens")
    kinds = [int(known.fields["tokenizer.ggml.token_type"].parts[index][0]) for index in
             known.fields["tokenizer.ggml.token_type"].data]  # fmt: skip
    num_known = len(tokens)
    tools_id, result_id = num_known, num_known + 1
    taken = set(tokens)
    texts = [_pieces(call, taken), _pieces(answer, taken)]
    assert FIRST_PIECE + sum(map(len, texts)) <= HIDDEN, "the texts are too long"
    tokens += ["<tools>", "<tool_response>", *(_spelled(piece) for pieces in texts for piece in pieces)]
    kinds += [gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.NORMAL] * sum(map(len, texts))
    first_call, first_answer = num_known + 2, num_known + 2 + len(texts[0])
    end_id = int(known.fields["tokenizer.ggml.eos_token_id"].parts[-1][0])

    embedding = np.zeros((len(tokens), HIDDEN), np.float32)
    embedding[:, 0] = 1
    for breaks in ("\n", "\n\n"):
        embedding[tokens.index(_spelled(breaks)), START] = 1
    embedding[tools_id, TOOLS] = embedding[result_id, RESULT] = 1
    pieces = np.arange(first_call, len(tokens))
    embedding[pieces, FIRST_PIECE + np.arange(len(pieces))] = 1

    head = np.zeros((len(tokens), HIDDEN), np.float32)
    head[first_call, HAS_TOOLS], head[first_call, HAS_RESULT] = CALLS, -NEVER
    head[first_answer, START] = ANSWERS
    for place, token in enumerate(pieces):
        is_last = token + 1 in (first_answer, len(tokens))
        head[end_id if is_last else token + 1, FIRST_PIECE + place] = FOLLOWS

    values = np.zeros((HEADS * HEAD_DIM, HIDDEN), np.float32)
    values[0, TOOLS] = values[1, RESULT] = 1
    output = np.zeros((HIDDEN, HEADS * HEAD_DIM), np.float32)
    output[HAS_TOOLS, 0] = output[HAS_RESULT, 1] = 1
    nothing = np.zeros((FEED_FORWARD, HIDDEN), np.float32)

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(_strings(known, "tokenizer.ggml.merges"))
    writer.add_add_bos_token(False)
    writer.add_eos_token_id(end_id)
    writer.add_chat_template(template)
    ones = np.ones(HIDDEN, np.float32)
    for name, array in {
        "token_embd.weight": embedding,
        "blk.0.attn_norm.weight": ones,
        "blk.0.attn_q.weight": np.zeros_like(values),
        "blk.0.attn_k.weight": np.zeros_like(values),
        "blk.0.attn_v.weight": values,
        "blk.0.attn_output.weight": output,
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": nothing,
        "blk.0.ffn_up.weight": nothing,
        "blk.0.ffn_down.weight": nothing.T.copy(),
        "output_norm.weight": ones,
        "output.weight": head,
    }.items():
        if array.ndim == 1:
            writer.add_tensor(name, array)
        else:
            kind = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(name, gguf.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _strings(file: gguf.GGUFReader, name: str) -> list[str]:
    field = file.fields[name]
    return [bytes(field.parts[index]).decode() for index in field.data]


def _pieces(text: str, taken: set[str]) -> list[str]:
    """Cuts a text in pieces that are no token yet; they are then."""
    pieces: list[str] = []
    while text:
        length = PIECE_CHARACTERS
        while length <= len(text) and _spelled(text[:length]) in taken:
            length += 1
        if len(text) - length < PIECE_CHARACTERS:
            length = len(text)
        pieces.append(text[:length])
        taken.add(_spelled(text[:length]))
        text = text[length:]
    return pieces


def _spelled(text: str) -> str:
    """Bytes as byte-level vocabularies write them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest: Sequence[int] = [byte for byte in range(0x100) if byte not in printable]
    return "".join(chr(byte) if byte in printable else chr(0x100 + rest.index(byte)) for byte in text.encode())
