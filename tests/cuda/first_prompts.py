"""The first prompts of a process, one longer than the other: prints which way kernels come to the card, and for each
prompt its tokens and the bytes of the card that it took. Arguments: type of the weights, number of the pages'."""

import ctypes
import sys

from tests.abi import leaf
from tests.cuda import card
from tests.cuda.test_models import BROAD, as_stored
from tests.models import tiny

LENGTHS = (512, 700, 1400, 2048, 4096)
"""A load warms up with 512."""
MODES = {1: "eager", 2: "lazy"}


def loading_mode() -> str:
    """CUmoduleLoadingMode of the driver, which has read CUDA_MODULE_LOADING by now."""
    mode = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuModuleGetLoadingMode(ctypes.byref(mode))
    return MODES[mode.value] if status == 0 else f"status {status}"


def free_bytes() -> int:
    return int(card.probe(card.cuda())[1].free_bytes)


def main() -> None:
    name, kv_dtype = sys.argv[1], int(sys.argv[2])
    weights = tiny.make(BROAD).weights(as_stored(name))
    params = leaf.load_params(weights, num_pages=64, kv_dtype=kv_dtype, max_context=max(LENGTHS), max_span=max(LENGTHS))
    with leaf.Model(weights, params, card.cuda()) as model:
        print(loading_mode())
        free = free_bytes()
        for length in LENGTHS:
            model.open_lane(0, [1])
            model.prefill([1] * length, list(range(64)), lane=0)
            print(length, free - free_bytes())
            free = free_bytes()


if __name__ == "__main__":
    main()
