"""Breaks the card's context of this process as a wild kernel does, and prints what a step and a load say then."""

import ctypes

from tests.abi import leaf
from tests.cuda.test_models import PAGES, as_stored, open_model
from tests.models import tiny

PTX = b""".version 7.0
.target sm_80
.address_size 64
.visible .entry broken() { trap; }
"""


def trap() -> None:
    """Runs a kernel that traps in the first card's context, and waits for it."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module, b"broken") == 0
    assert driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
    assert driver.cuCtxSynchronize() != 0
    assert driver.cuDevicePrimaryCtxRelease_v2(0) == 0


def main() -> None:
    weights = tiny.make(tiny.WIDE).weights(as_stored("BF16"))
    with open_model(weights) as model:
        trap()
        try:
            model.prefill([1, 2, 3], PAGES)
        except leaf.LeafError as error:
            print(f"step: {error}", flush=True)
    try:
        open_model(weights)
    except leaf.LeafError as error:
        print(f"load: {error}", flush=True)


if __name__ == "__main__":
    main()
