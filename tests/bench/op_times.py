"""The leaf with a clock around each operator: built from build.py's objects and op_times.cpp, and read after a run."""

import ctypes
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_suffix(".cpp")
MAX_OPERATORS = 32


def build(folder: Path) -> Path:
    """The library's path. Needs what `build.py native` left in .build/leaf, and its compilers."""
    objects = sorted((ROOT / ".build" / "leaf").glob("*.o"))
    wrapper, library = folder / "op_times.o", folder / "op_times.so"
    mangled = sorted(set(re.findall(r"_ZN5ignis\w+", SOURCE.read_text(encoding="utf-8"))))
    flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]
    subprocess.run(["g++", *flags, "-c", SOURCE, "-o", wrapper], check=True)
    wraps = [f"-Wl,--wrap={name.removeprefix('__real_').removeprefix('__wrap_')}" for name in mangled]
    subprocess.run(["gcc", "-shared", "-pthread", *wraps, wrapper, *objects, "-o", library, "-lm"], check=True)
    return library


def read(library: ctypes.CDLL) -> dict[str, float]:
    """Seconds by operator since the last read."""
    names, sums = (ctypes.c_char_p * MAX_OPERATORS)(), (ctypes.c_uint64 * MAX_OPERATORS)()
    count = library.ignis_op_times(names, sums, MAX_OPERATORS)
    return {(names[index] or b"").decode(): sums[index] / 1e9 for index in range(count)}
