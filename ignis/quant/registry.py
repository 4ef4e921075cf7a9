"""The element types that the leaves read, and the names of those that they do not."""

from collections.abc import Mapping

from ignis.quant.base import BlockFormat

FORMATS: tuple[BlockFormat, ...] = (
    BlockFormat("F32", 0, 1, 4),
    BlockFormat("F16", 1, 1, 2),
    BlockFormat("Q4_0", 2, 32, 18),
    BlockFormat("Q4_1", 3, 32, 20),
    BlockFormat("Q5_0", 6, 32, 22),
    BlockFormat("Q5_1", 7, 32, 24),
    BlockFormat("Q8_0", 8, 32, 34),
    BlockFormat("Q4_K", 12, 256, 144),
    BlockFormat("Q5_K", 13, 256, 176),
    BlockFormat("Q6_K", 14, 256, 210),
    BlockFormat("BF16", 30, 1, 2),
    # Its scales are a tensor of their own.
    BlockFormat("F8_E4M3", 256, 1, 1),
)

FIRST_OWN_NUMBER = 256
"""GGUF's numbers end below; from here on they are ours and ignis_step.h's, and no file has them."""

FORMAT_BY_NUMBER: Mapping[int, BlockFormat] = {form.number: form for form in FORMATS}

GGUF_FORMATS: Mapping[int, BlockFormat] = {form.number: form for form in FORMATS if form.number < FIRST_OWN_NUMBER}
"""By number."""

_KNOWN_AS: Mapping[int, str] = {256: "FP8"}

_OTHER_NAMES: Mapping[int, str] = {
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
    40: "NVFP4",
}


def format_name(number: int) -> str:
    """Names any GGUF element type, for messages: "IQ4_NL", or "type 77" where nobody has named it."""
    form = GGUF_FORMATS.get(number)
    return form.name if form is not None else _OTHER_NAMES.get(number, f"type {number}")


def known_as(number: int) -> str:
    """What people call one of FORMATS: "Q4_K", "FP8"."""
    return _KNOWN_AS.get(number) or FORMAT_BY_NUMBER[number].name
