"""Block sizes of the stored element types."""

import pytest

from ignis.models.base import DType
from ignis.quant.registry import FORMATS, GGUF_FORMATS, format_name, known_as


def test_the_formats_are_the_element_types_of_the_step_abi() -> None:
    assert {(form.name, form.number) for form in FORMATS} == {(dtype.name, dtype.value) for dtype in DType}


def test_block_sizes_are_those_of_the_gguf_package() -> None:
    gguf = pytest.importorskip("gguf")
    sizes = {kind.value: (kind.name, *gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGMLQuantizationType}
    for form in GGUF_FORMATS.values():
        assert (form.name, form.values, form.size_bytes) == sizes[form.number]


def test_numbers_of_our_own_lie_above_those_of_gguf() -> None:
    gguf = pytest.importorskip("gguf")
    own = [form for form in FORMATS if form.number not in GGUF_FORMATS]
    assert [(form.name, known_as(form.number)) for form in own] == [("F8_E4M3", "FP8")]
    assert min(form.number for form in own) > max(kind.value for kind in gguf.GGMLQuantizationType)
    assert format_name(256) == "type 256"
    assert known_as(12) == "Q4_K"


def test_every_type_has_the_name_that_the_gguf_package_gives_it() -> None:
    gguf = pytest.importorskip("gguf")
    for kind in gguf.GGMLQuantizationType:
        assert format_name(kind.value) in (kind.name, f"type {kind.value}")
    assert format_name(20) == "IQ4_NL"
    assert format_name(4) == "type 4"


def test_a_row_holds_whole_blocks() -> None:
    q4_k = next(form for form in FORMATS if form.name == "Q4_K")
    assert q4_k.row_bytes(512) == 288
    assert q4_k.row_bytes(500) is None
