"""Breaks the card's context of this process, as a kernel with a wild address does: through the driver alone."""

import ctypes

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
