"""Compiles the kernels of this folder to PTX, with what the leaf must know: python3 -m cuda.numba.compile FOLDER.

Needs Numba-CUDA with NVVM and NVRTC of CUDA 13.0, and no card.
"""

import hashlib
import importlib.metadata
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba.cuda.dispatcher
from numba import cuda, from_dtype, types

from cuda.numba import choose, count, gather, patch, rows, weigh

HERE = Path(__file__).resolve().parent
TARGET = (8, 0)  # the lowest card there is code for; build.py has code for each made of this

# Numba compiles a device function for the card that is there: here it is this one.
numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=TARGET)

PARAMS = types.Array(from_dtype(rows.PARAMS), 1, "C")
INT32, INT64, UINT32, FLOAT32 = types.int32[::1], types.int64[::1], types.uint32[::1], types.float32[::1]

# Each kernel with the types and names of its parameters. vocab_size is int64, as are whole numbers in the kernels.
KERNELS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "patch": (
        patch.patch,
        rows.THREADS,
        {
            "patched": FLOAT32,
            "wide": INT64,
            "narrow": INT32,
            "memory": UINT32,
            "logits": FLOAT32,
            "params": PARAMS,
            "vocab_size": types.int64,
        },
    ),
    "weigh": (
        weigh.weigh,
        rows.THREADS,
        {
            "wide": INT64,
            "narrow": INT32,
            "patched": FLOAT32,
            "logits": FLOAT32,
            "params": PARAMS,
            "vocab_size": types.int64,
        },
    ),
    "gather": (
        gather.gather,
        rows.THREADS,
        {
            "wide": INT64,
            "narrow": INT32,
            "patched": FLOAT32,
            "logits": FLOAT32,
            "params": PARAMS,
            "vocab_size": types.int64,
        },
    ),
    "choose": (
        choose.choose,
        rows.THREADS,
        {
            "draws": INT32,
            "wide": INT64,
            "narrow": INT32,
            "memory": UINT32,
            "logits": FLOAT32,
            "params": PARAMS,
            "vocab_size": types.int64,
        },
    ),
    "count_tokens": (
        count.count_tokens,
        count.THREADS,
        {
            "memory": UINT32,
            "output_counts": types.uint64,
            "is_seen": types.uint64,
            "tokens": types.uint64,
            "num": types.int64,
            "adds": types.int64,
        },
    ),
}


# Numbers of rows.py that the leaf needs.
NUMBERS = {
    "PARAMS_BYTES": rows.PARAMS.itemsize,
    "DRAW_WORDS": rows.DRAW_WORDS,
    "MAX_TOP_LOGPROBS": rows.MAX_TOP_LOGPROBS,
    "SLICE": rows.SLICE,
    "WIDE_WORDS": rows.CODES,
    "NARROW_WORDS": rows.NARROW_WORDS,
}


def compiled(name: str) -> str:
    """Returns a kernel's PTX, with its own name as the entry's."""
    kernel, threads, parameters = KERNELS[name]
    text, _ = cuda.compile(
        kernel.py_func,
        types.void(*parameters.values()),
        cc=TARGET,
        output="ptx",
        device=False,
        abi="numba",
        launch_bounds=threads,
    )
    (entry,) = re.findall(r"\.entry\s+(\S+?)\(", text)
    # Numba's environments are the interpreter's: nothing on the card reads them.
    return re.sub(r"^\.common \.global .*NumbaEnv.*\n", "", text, flags=re.MULTILINE).replace(entry, name)


def header() -> str:
    numbers = "\n".join(f"inline constexpr uint32_t {name} = {value};" for name, value in NUMBERS.items())
    places = "\n".join(
        f"inline constexpr uint32_t {name} = {rows.PARAMS.fields[name][1]};" for name in rows.PARAMS.names
    )
    symbols = "\n".join(f"extern const unsigned char ignis_{name}[];" for name in KERNELS)
    return f"""// Made by cuda/numba/compile.py from the kernels beside it.
#pragma once

#include <stdint.h>

extern "C" {{
// Code for the card, as build.py has it made of the PTX beside this.
{symbols}
}}

namespace ignis::sampling {{

enum Kernel : uint32_t {{ {", ".join(name.upper() for name in KERNELS)}, NUM_KERNELS }};
inline constexpr const char *NAMES[] = {{{", ".join(f'"{name}"' for name in KERNELS)}}};
inline constexpr uint32_t THREADS[] = {{{", ".join(str(threads) for _, threads, _ in KERNELS.values())}}};
inline const void *const IMAGES[] = {{{", ".join(f"ignis_{name}" for name in KERNELS)}}};

{numbers}

// Where a field of SampleParams is, in bytes.
namespace params {{
{places}
}}  // namespace params

}}  // namespace ignis::sampling
"""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(files: dict[str, str]) -> str:
    """What the files were made of and by; build.py compares it with what is there."""
    made = {
        "numba_cuda": importlib.metadata.version("numba-cuda"),
        "numba": importlib.metadata.version("numba"),
        "target": "compute_{}{}".format(*TARGET),
        "sources": {file.name: digest(file.read_bytes()) for file in sorted(HERE.glob("*.py"))},
        "files": {name: digest(text.encode()) for name, text in sorted(files.items())},
        "kernels": {
            name: {"threads": threads, "parameters": {key: str(kind) for key, kind in parameters.items()}}
            for name, (_, threads, parameters) in KERNELS.items()
        },
    }
    return json.dumps(made, indent=2) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{name}.ptx": compiled(name) for name in KERNELS} | {"sampling_kernels.h": header()}
    for name, text in (files | {"manifest.json": manifest(files)}).items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
