"""Weights that no file holds are the same on the card as on the CPU, and the card says what it can do."""

import ctypes

import numpy as np
import pytest

from tests.abi import leaf, synthetic
from tests.abi.ceilings import Ceilings
from tests.cuda import card
from tests.models import tiny

pytestmark = card.needs_card


@pytest.mark.parametrize("name", synthetic.NAMES)
def test_both_leaves_make_the_same_weights(name: str) -> None:
    on_host = synthetic.logits(card.host(), tiny.WIDE, name, 1, kv_dtype=leaf.F16)
    on_card = synthetic.logits(card.cuda(), tiny.WIDE, name, 1, kv_dtype=leaf.F16)
    # The card's prefill may take E4M3 activations for FP8 weights.
    assert np.linalg.norm(on_card - on_host) < (1e-1 if name == "F8_E4M3" else 1e-2) * np.linalg.norm(on_host)


def test_the_card_can_be_measured() -> None:
    ceilings = Ceilings(ctypes.sizeof(Ceilings))
    leaf.check(card.cuda(), card.cuda().ignis_measure(0, ctypes.byref(ceilings)))
    assert 1e11 < ceilings.copy_bytes_s < ceilings.read_bytes_s * 1.2 < 2e13
    assert 1e13 < ceilings.matrix_flops_s < 1e16
