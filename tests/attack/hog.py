"""Holds the card's memory but for so many MiB, until its input ends. With `greedy` it takes what becomes free, too."""

import ctypes
import select
import sys


def main() -> None:
    keep, is_greedy = int(sys.argv[1]) << 20, "greedy" in sys.argv[2:]
    driver = ctypes.CDLL("libcuda.so.1")
    context, free, total, at = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0

    def take() -> None:
        piece = 1 << 34
        while piece >= 16 << 20:
            assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
            if free.value < keep + piece or driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(piece)) != 0:
                piece //= 2

    take()
    print(f"free: {free.value >> 20} MiB", flush=True)
    while not select.select([sys.stdin], [], [], 0.002 if is_greedy else None)[0]:
        take()


if __name__ == "__main__":
    main()
