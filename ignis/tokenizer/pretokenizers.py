"""How each named pre-tokenizer cuts text before BPE merges: the table behind tokenizer.ggml.pre.

A name stands for the rules of the tokenizer.json that the models of that name were trained with. Where a GGUF reader
approximates a rule for want of Unicode classes, the original is given here. A name that is not listed is refused.
"""

from dataclasses import dataclass

from tokenizers import Regex, pre_tokenizers
from tokenizers.pre_tokenizers import PreTokenizer

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LINES_AND_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES_AND_SPACES}"
)
QWEN2 = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_LINES_AND_SPACES}"
QWEN35 = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_LINES_AND_SPACES}"
)
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
    rf"|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES_AND_SPACES}"
)
GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_LINES_AND_SPACES}"
)
DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES_AND_SPACES}"
)
SEED_CODER = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_LINES_AND_SPACES}"
)
HAN_AND_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
BAILING = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"  # noqa: RUF001 - commas and full stops of other scripts


@dataclass(frozen=True, slots=True)
class PreTokenizerRule:
    patterns: tuple[str, ...]
    """Applied one after the other; each cuts the pieces that the ones before it left."""
    composes: bool = False
    """Text is brought to NFC first."""
    whole_pieces: bool = False
    """A piece that is a token is taken whole, without merging (ignore_merges)."""


_RULES: dict[PreTokenizerRule, tuple[str, ...]] = {
    PreTokenizerRule((GPT2,)): (
        "gpt-2", "phi-2", "jais", "gigachat", "a.x-4.0", "mellum", "exaone4", "trillion", "granite-docling",
    ),
    PreTokenizerRule((r"\p{N}", GPT2)): (
        "smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2",
    ),
    PreTokenizerRule((r"\p{N}", GPT2), composes=True): ("command-r",),
    PreTokenizerRule((GPT2,), composes=True): ("mpt", "olmo"),
    PreTokenizerRule((r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]")): ("default",),
    PreTokenizerRule((r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]")): ("falcon",),
    PreTokenizerRule((LLAMA3,), whole_pieces=True): (
        "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "glm4", "glm5",
    ),
    PreTokenizerRule((LLAMA3,)): ("dbrx", "smaug-bpe", "chatglm-bpe"),
    PreTokenizerRule((QWEN2,), composes=True): ("qwen2",),
    PreTokenizerRule((QWEN2,)): ("deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "kormo", "grok-2", "solar-open"),
    PreTokenizerRule((QWEN35,), composes=True): ("qwen35",),
    PreTokenizerRule((TEKKEN,), whole_pieces=True): ("tekken",),
    PreTokenizerRule((GPT4O,)): ("gpt-4o", "llama4", "kanana2", "minimax-m2"),
    PreTokenizerRule((r"\p{N}{1,3}", HAN_AND_KANA, DEEPSEEK3)): ("deepseek-v3", "hunyuan-dense", "joyai-llm"),
    PreTokenizerRule((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}")): ("deepseek-coder",),
    PreTokenizerRule((SEED_CODER,)): ("seed-coder",),
    PreTokenizerRule((BAILING,)): ("bailingmoe", "bailingmoe2", "llada-moe"),
    PreTokenizerRule((BLOOM,)): ("bloom", "poro-chat", "gpt3-finnish"),
    PreTokenizerRule((BLOOM, r"\p{N}")): ("viking",),
}  # fmt: skip

RULES: dict[str, PreTokenizerRule] = {name: rule for rule, names in _RULES.items() for name in names}


def build_pre_tokenizer(rule: PreTokenizerRule) -> PreTokenizer:
    """The cuts, and then each piece in GPT-2's byte alphabet."""
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in rule.patterns]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
