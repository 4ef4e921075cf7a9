#!/usr/bin/env python3
"""Sets everything up and runs every chore of ignis. Standard library only; incremental; safe to repeat.

python3 build.py serve [server options]   set up, then start the server
python3 build.py test [pytest options]    the whole test suite
python3 build.py check                    format, lint, types, layers, generated files
python3 build.py gen                      write the files derived from spec/
python3 build.py binary                   dist/ignis-server, one executable
python3 build.py bench [name] [options]   measurements; without a name, which there are
python3 build.py gpu-test [pytest options]  the CUDA leaf on this machine's card, with this Python
python3 build.py cuda-targets [targets]   compile the CUDA leaf for each of its targets, or for those named
python3 build.py ptx                      compile the kernels of cuda/numba to the PTX that is committed
python3 build.py vendor                   fetch the Playground's libraries again, held to ui/vendor/lock.toml
python3 build.py clean [--all]            remove what was built (--all: the environment and the models too)
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 -- this line is for the interpreters that pyproject.toml refuses
    sys.exit(
        f"build.py: Python 3.11 or newer is needed, this is {sys.version_info[0]}.{sys.version_info[1]};"
        " install it (Debian 12, Ubuntu 24.04 and Fedora have it) and run: python3.11 build.py"
    )

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sysconfig
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
WORK = ROOT / ".build"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
COMMAND = VENV / "bin" / "ignis-server"
DATA = ROOT / "ignis" / "data"
CPU_LEAF = DATA / "libignis_cpu.so"
CUDA_LEAF = DATA / "libignis_cuda.so"
PTX = ROOT / "cuda" / "numba" / "ptx"
# The targets that it was built for.
BUILT_ARCHS = WORK / "cuda_archs"
# One of them is there once a driver has found a card: Linux's own, or that of Windows under WSL 2.
SIGNS_OF_A_CARD = [Path("/dev/nvidiactl"), Path("/usr/lib/wsl/lib/libcuda.so.1")]
NO_CARD = "there is no card to test: {}; with --without-card its tests are skipped"
EXECUTABLE = ROOT / "dist" / "ignis-server"
SHIPPED_SUFFIXES = {".py", ".html", ".js", ".css", ".svg", ".json", ".woff2", ".txt"}
CORE = ROOT / "ignis" / ("_core" + str(sysconfig.get_config_var("EXT_SUFFIX")))

# Free disk that installing a group needs at most, download and unpacked.
GROUP_MEGABYTES = {"runtime": 120, "build": 40, "test": 800, "release": 80, "ptx": 600}


class Problem(Exception):
    """Something that the user has to mend; its text says what is missing and how to get it."""


def main(arguments: Sequence[str]) -> int:
    commands: dict[str, Callable[[list[str]], int]] = {
        "serve": serve,
        "test": test,
        "check": check,
        "gen": generate,
        "binary": binary,
        "bench": bench,
        "clean": clean,
        "native": native_only,
        "gpu-test": gpu_test,
        "cuda-targets": cuda_targets,
        "ptx": make_ptx,
        "vendor": vendor,
    }
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    command = commands.get(arguments[0])
    if command is None:
        print(f"build.py: no command {arguments[0]!r}; there are {', '.join(commands)}", file=sys.stderr)
        return 2
    try:
        if not sys.platform.startswith("linux"):
            raise Problem(f"ignis is built on Linux, this is {sys.platform}")
        return command(list(arguments[1:]))
    except Problem as problem:
        print(f"build.py: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


# --- commands -------------------------------------------------------------------------------------------------------


def serve(arguments: list[str]) -> int:
    if not CORE.exists():
        refuse_bad_options(arguments)
    prepare("runtime", "build")
    sys.stdout.flush()
    # Not `-m ignis`: what the server tells people to type is named as it was started. -P keeps a folder called ignis
    # beside the command out; the environment knows the checkout by its .pth file.
    os.execv(PYTHON, [str(PYTHON), "-P", str(COMMAND), "serve", *arguments])


HELPED = 3


def refuse_bad_options(arguments: list[str]) -> None:
    """Ends at once on options, a model's path and an address that the server would refuse once the native code, which
    takes minutes, is compiled; and on a call for help, which needs none of it."""
    code = (
        "import os, pathlib, sys\n"
        "from ignis.config import load_config\n"
        "from ignis.commands import usage\n"
        "from ignis.errors import ConfigError\n"
        "from ignis.precheck import check_addresses, check_artifact\n"
        "if {'-h', '--help'} & set(sys.argv[1:]):\n"
        "    print(usage())\n"
        f"    sys.exit({HELPED})\n"
        "try:\n"
        "    config = load_config(sys.argv[1:], os.environ, pathlib.Path.cwd())\n"
        "    check_artifact(config)\n"
        "    check_addresses(config)\n"
        "except ConfigError as error:\n"
        "    sys.exit(f'ignis-server: {error.message}')\n"
    )
    # This Python, with none of the packages: the configuration is read without them, and nothing has been set up yet.
    places = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    status = subprocess.run([sys.executable, "-P", "-c", code, *arguments], env=environment).returncode
    if status:
        sys.exit(0 if status == HELPED else 2)


def test(arguments: list[str]) -> int:
    prepare("runtime", "build", "test", "release")
    fetched = run([PYTHON, "-m", "ignis", "model", "download"])
    return fetched or run([PYTHON, "-m", "pytest", *arguments])


def check(arguments: list[str]) -> int:
    prepare("runtime", "build", "test")
    steps: dict[str, list[str | Path]] = {
        "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
        "lint": [PYTHON, "-m", "ruff", "check", "."],
        "types": [PYTHON, "-m", "mypy"],
        "imports": [VENV / "bin" / "lint-imports"],
        "generated files": [PYTHON, "spec/generate.py", "--check"],
        "libraries of the page": [PYTHON, "packaging/vendor.py", "check"],
        "layers of the rest": [PYTHON, "-m", "pytest", "-q", "tests/unit/test_layers.py"],
    }
    failed = []
    for name, command in steps.items():
        print(f"== {name}", flush=True)
        if run(command):
            failed.append(name)
    print("== kernels of cuda/numba", flush=True)
    stale = stale_ptx()
    if stale:
        print(f"other than they were compiled, or compiled otherwise: {', '.join(stale)}; run: python3 build.py ptx")
        failed.append("kernels of cuda/numba")
    print(f"check: {'failed: ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


def make_ptx(arguments: list[str]) -> int:
    if arguments:
        raise Problem("ptx takes no options")
    prepare("build", "test", "ptx")
    return run([PYTHON, "-m", "cuda.numba.compile", PTX])


def stale_ptx() -> list[str]:
    """Returns the files of cuda/numba that differ from what its manifest says they were when the PTX was made; and the
    files that this machine compiles otherwise, where it has what compiles them."""
    known = json.loads((PTX / "manifest.json").read_text(encoding="utf-8"))
    there = {file.name: digest(file.read_bytes()) for file in PTX.parent.glob("*.py")}
    made = {file.name: digest(file.read_bytes()) for file in PTX.iterdir() if file.name != "manifest.json"}
    stale = differing(known["sources"], there) | differing(known["files"], made)
    if not stale and read_stamp(VENV / ".ptx.stamp") is not None:
        again = WORK / "ptx"
        if run([PYTHON, "-m", "cuda.numba.compile", again]):
            raise Problem("the kernels of cuda/numba do not compile (above)")
        stale = differing(made, {name: digest((again / name).read_bytes()) for name in made})
    return sorted(stale)


def differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {name for name, _ in one.items() ^ other.items()}


def vendor(arguments: list[str]) -> int:
    if arguments:
        raise Problem("vendor takes no options")
    return run([sys.executable, ROOT / "packaging" / "vendor.py", "fetch"])


def generate(arguments: list[str]) -> int:
    prepare("runtime", "build")
    return run([PYTHON, "spec/generate.py", *arguments])


def bench(arguments: list[str]) -> int:
    names = sorted(file.stem for file in (ROOT / "tests" / "bench").glob("*.py") if not file.name.startswith("_"))
    if not arguments:
        print("\n".join(names))
        return 0
    if arguments[0] not in names:
        raise Problem(f"no bench {arguments[0]!r}; there are {', '.join(names)}")
    prepare("runtime", "build", "test")
    return run([PYTHON, f"tests/bench/{arguments[0]}.py", *arguments[1:]])


def gpu_test(arguments: list[str]) -> int:
    """Tests the card with this Python: its machine need not reach an index. --built takes the leaves and ignis._core as
    they are. What needs more than is there (ignis._core, the executable, the default model) says so and is skipped.
    Without a card everything would be: that is an error, but with --without-card."""
    needs_card = "--without-card" not in arguments
    if not needs_card:
        arguments.remove("--without-card")
    if "--built" in arguments:
        arguments.remove("--built")
    else:
        if needs_card:
            check_driver()
        with alone_building():
            compiler = Compiler(WORK / "native.json")
            try:
                build_leaves(compiler)
                if has_module("Cython"):
                    build_core(compiler, Path(sys.executable))
                build_checked_leaf(compiler)
            finally:
                compiler.remember()
    tests = ROOT / "tests" / "cuda"
    alone = ["-c", str(tests / "pytest.ini"), f"--rootdir={tests}", f"--confcutdir={tests}", "-p", "no:cacheprovider"]
    os.environ["PYTHONPATH"] = str(ROOT)
    if needs_card:
        check_card()
    return run([sys.executable, "-m", "pytest", *alone, str(tests), *arguments])


def check_driver() -> None:
    """Ends where nothing need be built to see that there is no card."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise Problem(NO_CARD.format("no NVIDIA driver: libcuda.so.1 cannot be loaded")) from None


def check_card() -> None:
    """Ends where the tests of the card have none."""
    code = "from tests.cuda import card; print(card.why_not() or '')"
    asked = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    if asked.returncode:
        raise Problem(f"{sys.executable} cannot run the tests of the card: {asked.stderr.strip().splitlines()[-1]}")
    why = asked.stdout.strip()
    if why:
        raise Problem(NO_CARD.format(why))


def cuda_targets(arguments: list[str]) -> int:
    """Compiles and links the CUDA leaf for one target after the other, beside the leaf that is in use. What a CI, which
    builds one target, runs when asked for the rest."""
    leaf = tomllib.loads((ROOT / "cuda" / "SOURCES.toml").read_text(encoding="utf-8"))
    toolkit = find_toolkit(is_wanted=True)
    if toolkit is None:
        raise Problem("there is no CUDA compiler (above)")
    WORK.mkdir(exist_ok=True)
    compiler = Compiler(WORK / "native.json")
    try:
        for target in checked_archs(leaf, arguments or leaf["cuda"]["archs"]):
            started = time.monotonic()
            library = WORK / "targets" / f"libignis_cuda.{target}.so"
            build_cuda_leaf(compiler, toolkit, leaf, [target], library)
            print(f"{target}: {time.monotonic() - started:.0f} s, {library.stat().st_size >> 10} KB", flush=True)
    finally:
        compiler.remember()
    return 0


def clean(arguments: list[str]) -> int:
    doomed = [
        WORK,
        EXECUTABLE.parent,
        DATA,
        ROOT / "build",
        ROOT / ".mypy_cache",
        ROOT / ".ruff_cache",
        ROOT / ".pytest_cache",
    ]
    doomed += [ROOT / ".hypothesis", ROOT / ".import_linter_cache", ROOT / "ignis" / "_core.c"]
    doomed += (ROOT / "ignis").glob("_core*.so")
    if arguments == ["--all"]:
        doomed += [VENV, ROOT / "models"]
    elif arguments:
        raise Problem("clean takes --all or nothing")
    for path in doomed:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return 0


def native_only(arguments: list[str]) -> int:
    prepare("runtime", "build")
    return 0


# --- the private environment ----------------------------------------------------------------------------------------


def prepare(*groups: str) -> None:
    """Brings the environment and the native code up to date. Two calls at once wait for each other."""
    with alone_building():
        install(groups)
        native()


@contextlib.contextmanager
def alone_building() -> Iterator[None]:
    """Nobody else builds here meanwhile."""
    WORK.mkdir(exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(groups: Sequence[str]) -> None:
    """Makes .venv and installs the groups of packaging/lock.toml that it lacks in their pinned versions."""
    pins = tomllib.loads((ROOT / "packaging" / "lock.toml").read_text(encoding="utf-8"))
    interpreter = f"{sys.implementation.cache_tag} {platform.machine()}"
    stamps = {group: digest(repr((interpreter, pins[group])).encode()) for group in groups}
    missing = [group for group in groups if read_stamp(VENV / f".{group}.stamp") != stamps[group]]
    if not missing and os.access(PYTHON, os.X_OK):
        return
    needed_mb = sum(GROUP_MEGABYTES[group] for group in missing)
    free_mb = shutil.disk_usage(ROOT).free >> 20
    if free_mb < needed_mb:
        raise Problem(f"the packages need {needed_mb} MB, {ROOT} has {free_mb} MB free; free some disk space")
    make_environment()
    packages = sorted({package for group in missing for package in pins[group]})
    with step(f"installing {len(packages)} packages ({', '.join(missing)})"):
        # --no-deps: the lock is complete. pip's own configuration decides which index and mirrors are asked.
        pip = ["install", "-qq", "--no-input", "--no-deps", "--disable-pip-version-check", "--progress-bar", "off"]
        if subprocess.run([*pip_command(), *pip, *packages], cwd=ROOT).returncode:
            raise Problem(
                "pip could not install the pinned packages (its own lines are above); without a way to pypi.org,"
                " point pip to a mirror: PIP_INDEX_URL=https://mirror.example/simple python3 build.py ...,"
                " or pip config set global.index-url"
            )
    for group in missing:
        (VENV / f".{group}.stamp").write_text(stamps[group])


def make_environment() -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    library = VENV / "lib" / f"python{version}" / "site-packages"
    if not (os.access(PYTHON, os.X_OK) and library.is_dir()):
        with step(f"making .venv with Python {version}"):
            if VENV.exists():
                shutil.rmtree(VENV)
            with_pip = [] if has_module("ensurepip") else ["--without-pip"]
            if with_pip and not has_module("pip"):
                raise Problem(
                    f"Python has neither ensurepip nor pip; on Debian and Ubuntu: apt-get install python{version}-venv"
                )
            if subprocess.run([sys.executable, "-m", "venv", *with_pip, VENV]).returncode:
                raise Problem(
                    f"python -m venv failed (above); on Debian and Ubuntu: apt-get install python{version}-venv"
                )
    # The checkout itself is importable from any working directory, and has its command.
    (library / "ignis.pth").write_text(f"{ROOT}\n")
    COMMAND.write_text(f"#!{PYTHON}\nimport sys\n\nfrom ignis.__main__ import main\n\nsys.exit(main())\n")
    COMMAND.chmod(0o755)


def pip_command() -> list[str]:
    """Returns the environment's pip, or this interpreter's pip turned on the environment."""
    if any(VENV.glob("lib/python*/site-packages/pip")):
        return [str(PYTHON), "-m", "pip"]
    return [sys.executable, "-m", "pip", "--python", str(PYTHON)]


def has_module(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0


# --- native code ----------------------------------------------------------------------------------------------------


class Compiler:
    """Runs the commands whose inputs changed, judged by content, and remembers them in a file."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        try:
            self._known: dict[str, dict[str, object]] = json.loads(self._memory.read_text())
        except (OSError, ValueError):
            self._known = {}
        self._digests: dict[str, str] = {}
        self.num_run = 0

    def is_fresh(self, output: Path, command: Sequence[str]) -> bool:
        entry = self._known.get(str(output))
        if entry is None or entry["command"] != list(command) or not output.exists():
            return False
        inputs = entry["inputs"]
        assert isinstance(inputs, dict)
        return all(self._digest(file) == content for file, content in inputs.items())

    def build(self, output: Path, command: Sequence[str], inputs: Sequence[Path], depfile: Path | None = None) -> None:
        """Runs the command unless the output is fresh. A depfile adds the headers that were read to the inputs.

        The command writes to `output`.new, which takes the place at once: who has mapped the old file keeps it.
        """
        if self.is_fresh(output, command) and (depfile is not None or self._has_read(output, inputs)):
            return
        output.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise Problem(f"this failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
        sys.stderr.writelines(line for line in done.stderr.splitlines(keepends=True) if " INFO: " not in line)
        if output.is_dir():
            shutil.rmtree(output)
        Path(f"{output}.new").replace(output)
        read = [str(file) for file in inputs] if depfile is None else read_depfile(depfile)
        self._known[str(output)] = {"command": list(command), "inputs": {file: self._digest(file) for file in read}}
        self.num_run += 1
        print(f"  {time.monotonic() - started:5.1f} s  {output.relative_to(ROOT)}", file=sys.stderr, flush=True)

    def _has_read(self, output: Path, inputs: Sequence[Path]) -> bool:
        """Says whether the output was made of these files, no more and no fewer."""
        known = self._known[str(output)]["inputs"]
        assert isinstance(known, dict)
        return known.keys() == {str(file) for file in inputs}

    def remember(self) -> None:
        if self.num_run:
            self._memory.write_text(json.dumps(self._known))

    def _digest(self, file: str) -> str:
        if file not in self._digests:
            try:
                self._digests[file] = digest((ROOT / file).read_bytes())
            except OSError:
                self._digests[file] = "absent"
        return self._digests[file]


def native(python: Path = PYTHON) -> None:
    """Builds ignis/_core, with the Cython of that interpreter, and the leaves that this machine has the tools for."""
    WORK.mkdir(exist_ok=True)
    compiler = Compiler(WORK / "native.json")
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            core = pool.submit(build_core, compiler, python)
            build_leaves(compiler)
            core.result()
    finally:
        compiler.remember()


def build_leaves(compiler: Compiler) -> None:
    """Builds libignis_cpu.so, and libignis_cuda.so where `find_toolkit` finds an nvcc for it.

    A CUDA leaf that was built here once is kept up to date, for the targets that it was built for: what was asked for
    stays, and no old leaf beside new sources. Where that cannot be done it goes.
    """
    leaf = tomllib.loads((ROOT / "cuda" / "SOURCES.toml").read_text(encoding="utf-8"))
    toolkit = find_toolkit(is_wanted=CUDA_LEAF.exists())
    named = os.environ.get("IGNIS_CUDA_ARCHS")
    if toolkit is None and named:
        raise Problem(f"IGNIS_CUDA_ARCHS is {named}, and there is no CUDA compiler (above); install one or unset it")
    on_cpu = build_objects(compiler, leaf, "cpu")
    link = [find_tool("CC", "gcc"), *on_cpu, "-o", f"{CPU_LEAF}.new", *leaf["flags"]["link"]]
    compiler.build(CPU_LEAF, link, list(map(Path, on_cpu)))
    if toolkit is None:
        CUDA_LEAF.unlink(missing_ok=True)
        return
    archs = cuda_archs(leaf)
    build_cuda_leaf(compiler, toolkit, leaf, archs, CUDA_LEAF)
    BUILT_ARCHS.write_text(",".join(archs))


def build_cuda_leaf(
    compiler: Compiler,
    toolkit: "Toolkit",
    leaf: dict[str, Any],
    archs: list[str],
    library: Path,
    options: Sequence[str] = (),
) -> None:
    sources = [ROOT / "cuda" / unit["source"] for unit in leaf["unit"] if unit["source"].endswith(".cu")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        on_card = pool.map(lambda source: build_kernels(compiler, toolkit, source, leaf, archs, options), sources)
        images = pool.submit(build_images, compiler, toolkit, archs)
        objects = [*build_objects(compiler, leaf, "cuda"), *map(str, on_card), str(images.result())]
    link = [find_tool("CC", "gcc"), *objects, "-o", f"{library}.new", f"-L{toolkit.libraries}", *leaf["cuda"]["link"]]
    compiler.build(library, link, list(map(Path, objects)))


def build_checked_leaf(compiler: Compiler) -> None:
    """Builds the CUDA leaf that racecheck can follow, where there is a racecheck (tests/cuda/test_sanitizer.py)."""
    toolkit = find_toolkit(is_wanted=True)
    if toolkit is not None and shutil.which("compute-sanitizer"):
        leaf = tomllib.loads((ROOT / "cuda" / "SOURCES.toml").read_text(encoding="utf-8"))
        library = WORK / "targets" / "libignis_cuda.racecheck.so"
        build_cuda_leaf(compiler, toolkit, leaf, cuda_archs(leaf), library, leaf["cuda"]["racecheck"])


def build_objects(compiler: Compiler, leaf: dict[str, Any], name: str) -> list[str]:
    """Compiles the units that gcc can and that are in this leaf; returns the objects' paths."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [job for unit, *job in leaf_objects(leaf) if unit.get("leaf", name) == name]
        return [str(output) for output in pool.map(lambda job: build_object(compiler, *job), jobs)]


def leaf_objects(leaf: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Path, str, list[str]]]:
    """Lists (unit, source, instruction set, flags) of cuda/SOURCES.toml, which says what its keys mean.

    A machine that is not an x86-64 has the portable one only, with its compiler's own idea of the architecture.
    """
    is_x86 = platform.machine() == "x86_64"
    for unit in leaf["unit"]:
        if unit["source"].endswith(".cu"):
            continue
        for isa in unit.get("isa", ["portable"]):
            if is_x86 or isa == "portable":
                named = [f"-DIGNIS_ISA_NAMESPACE={isa}"] if "isa" in unit else []
                march = leaf["isa"][isa] if is_x86 else []
                yield unit, ROOT / "cuda" / unit["source"], isa, [*leaf["flags"]["compile"], *march, *named]


def build_kernels(
    compiler: Compiler,
    toolkit: "Toolkit",
    source: Path,
    leaf: dict[str, Any],
    archs: Sequence[str],
    options: Sequence[str] = (),
) -> Path:
    """Compiles a unit for these targets, with further options; side by side with what was made for others."""
    targets = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs if arch != "ptx"]
    # PTX for cards that come later asks for no more shared memory than the smallest of today's have.
    targets += ["-gencode=arch=compute_89,code=compute_89"] if "ptx" in archs else []
    name = "-".join(source.relative_to(ROOT / "cuda").with_suffix("").parts)
    kind = "-".join([*archs, *(option.lstrip("-D") for option in options)])
    output = WORK / "leaf" / f"{name}.{kind}.o"
    depfile = output.with_suffix(".d")
    flags = [*leaf["cuda"]["compile"], *options, *targets, "-MMD", "-MF", str(depfile)]
    command = [str(toolkit.nvcc), *flags, "-x", "cu", "-c", str(source), "-o", f"{output}.new"]
    compiler.build(output, command, [source], depfile)
    return output


def build_images(compiler: Compiler, toolkit: "Toolkit", archs: Sequence[str]) -> Path:
    """Makes an object that holds the code of each kernel of cuda/numba, as ptx/sampling_kernels.h names it."""
    folder = WORK / "leaf" / f"numba.{'-'.join(archs)}"
    folder.mkdir(parents=True, exist_ok=True)
    codes = ["compute_80" if arch == "ptx" else f"sm_{arch}" for arch in archs]
    flags = ["-fatbin", "-compress-mode=size", *[f"-gencode=arch=compute_80,code={code}" for code in codes]]
    lines, images = [".section .rodata"], []
    for source in sorted(PTX.glob("*.ptx")):
        image = folder / f"{source.stem}.fatbin"
        compiler.build(image, [str(toolkit.nvcc), *flags, str(source), "-o", f"{image}.new"], [source])
        images.append(image)
        symbol = f"ignis_{source.stem}"
        lines += [".balign 64", f".globl {symbol}", f".hidden {symbol}", f"{symbol}:", f'.incbin "{image}"']
    lines.append('.section .note.GNU-stack,"",@progbits')
    assembly, output = folder / "images.s", folder / "images.o"
    assembly.write_text("\n".join(lines) + "\n")
    gcc = find_tool("CC", "gcc")
    compiler.build(output, [gcc, "-c", str(assembly), "-o", f"{output}.new"], [assembly, *images])
    return output


def cuda_archs(leaf: dict[str, Any]) -> list[str]:
    """Returns the targets that IGNIS_CUDA_ARCHS names: a list with commas, or `all`. Without it: those of the leaf that
    is there, else those of this machine's cards, else the default."""
    wanted = os.environ.get("IGNIS_CUDA_ARCHS")
    if not wanted and CUDA_LEAF.exists() and BUILT_ARCHS.exists():
        wanted = BUILT_ARCHS.read_text()
    if wanted == "all":
        return list(leaf["cuda"]["archs"])
    if wanted:
        return checked_archs(leaf, wanted.split(","))
    return archs_of_cards(leaf["cuda"]["archs"]) or list(leaf["cuda"]["default_archs"])


def archs_of_cards(known: Sequence[str]) -> list[str]:
    """Returns the targets of the cards that the driver's own tool lists: that of a card's compute capability, or PTX,
    which the driver compiles, where there is none."""
    tool = shutil.which("nvidia-smi") or shutil.which("/usr/lib/wsl/lib/nvidia-smi")
    if tool is None:
        return []
    asked = subprocess.run([tool, "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True)
    capabilities = [line.strip().replace(".", "") for line in asked.stdout.splitlines()]
    numbers = {arch.rstrip("a"): arch for arch in known}
    return sorted({numbers.get(each, "ptx") for each in capabilities if each.isdigit()})


def checked_archs(leaf: dict[str, Any], archs: Sequence[str]) -> list[str]:
    known = leaf["cuda"]["archs"]
    for arch in archs:
        if arch not in known:
            raise Problem(f"there is no CUDA target {arch!r}; there are {', '.join(known)}, and all")
    return list(archs)


@dataclasses.dataclass(frozen=True)
class Toolkit:
    """CUDA's compiler and the folder of its static run time."""

    nvcc: Path
    libraries: Path


def find_toolkit(*, is_wanted: bool) -> Toolkit | None:
    """Returns CUDA 13's compiler from NVCC, PATH or the usual place. Without one there is no CUDA leaf: no error, where
    IGNIS_CUDA_ARCHS names no targets.

    Nor is one looked for on a machine without a card, unless it is wanted or IGNIS_CUDA_ARCHS asks for it: who only
    wants to serve on the CPU should not wait for kernels that nothing here can run.

    A newer major version is not taken: what it makes is refused by the drivers that 13 works with.
    """
    if not is_wanted and not os.environ.get("IGNIS_CUDA_ARCHS") and not any(map(Path.exists, SIGNS_OF_A_CARD)):
        return None
    candidates = [
        os.environ.get("NVCC"),
        shutil.which("nvcc"),
        "/usr/local/cuda/bin/nvcc",
        "/usr/local/cuda-13.0/bin/nvcc",
    ]
    why = "no nvcc on PATH or in /usr/local/cuda"
    for candidate in dict.fromkeys(filter(None, candidates)):
        if not os.access(candidate, os.X_OK):
            continue
        version = subprocess.run([candidate, "--version"], capture_output=True, text=True).stdout
        if "release 13." not in version:
            why = f"{candidate} is not CUDA 13's"
            continue
        # Asked, because what is on PATH may be a script that starts the compiler from somewhere else.
        plan = subprocess.run(
            [candidate, "--dryrun", "-c", "-x", "cu", "/dev/null"], capture_output=True, text=True
        ).stderr
        top = re.search(r"^#\$ TOP=(.+?)\s*$", plan, re.MULTILINE)
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib"):
            if top and (Path(top[1]) / folder / "libcudart_static.a").exists():
                return Toolkit(Path(candidate), Path(top[1]) / folder)
        why = f"{candidate} has no libcudart_static.a beside it"
    print(f"the CUDA leaf is left out: {why}", file=sys.stderr)
    return None


def build_object(compiler: Compiler, source: Path, isa: str, flags: list[str]) -> Path:
    name = "-".join(source.relative_to(ROOT / "cuda").with_suffix("").parts)
    output = WORK / "leaf" / f"{name}.{isa}.o"
    depfile = output.with_suffix(".d")
    command = [find_tool("CXX", "g++"), *flags, "-MMD", "-MF", str(depfile), "-c", str(source), "-o", f"{output}.new"]
    compiler.build(output, command, [source], depfile)
    return output


def build_core(compiler: Compiler, python: Path) -> None:
    headers = Path(sysconfig.get_path("include"))
    source = ROOT / "ignis" / "_core.pyx"
    written = WORK / "_core.c"
    cython = [str(python), "-m", "cython", "-3", str(source), "-o", f"{written}.new"]
    compiler.build(written, cython, [source, *sorted((ROOT / "ignis").glob("*.pxd"))])
    if not (headers / "Python.h").exists():
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise Problem(f"no Python.h in {headers}; on Debian and Ubuntu: apt-get install python{version}-dev")
    includes = [f"-I{headers}", f"-I{ROOT / 'cuda' / 'include'}"]
    flags = ["-O2", "-g0", "-fPIC", "-shared", "-fvisibility=hidden", "-fwrapv", "-DNDEBUG", "-s"]
    command = [find_tool("CC", "gcc"), *flags, *includes, str(written), "-o", f"{CORE}.new", "-ldl", "-lm"]
    compiler.build(CORE, command, [written, ROOT / "cuda" / "include" / "ignis_step.h"])


def find_tool(variable: str, name: str) -> str:
    tool = os.environ.get(variable) or name
    found = shutil.which(tool)
    if found is None:
        raise Problem(f"no C++ compiler: {tool} is not on PATH; on Debian and Ubuntu: apt-get install gcc g++")
    return found


def read_depfile(depfile: Path) -> list[str]:
    """Returns the files that a make rule depends on."""
    text = depfile.read_text().replace("\\\n", " ").partition(": ")[2]
    return [name.replace("\\ ", " ") for name in re.split(r"(?<!\\)\s+", text) if name]


# --- the executable -------------------------------------------------------------------------------------------------


def binary(arguments: list[str]) -> int:
    """Makes dist/ignis-server: PyInstaller's folder, packed behind the stub that unpacks and starts it."""
    if arguments:
        raise Problem("binary takes no options")
    prepare("runtime", "build", "release")
    with (WORK / "binary.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiler = Compiler(WORK / "binary.json")
        try:
            zstd = fetch_zstd(compiler)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                frozen = pool.submit(freeze, compiler, zstd)
                stub = build_stub(compiler, zstd)
                folder = frozen.result()
            packer = ROOT / "packaging" / "pack.py"
            pack = [str(PYTHON), str(packer), str(stub), str(folder), f"{EXECUTABLE}.new"]
            parts = sorted(file for file in folder.rglob("*") if file.is_file())
            compiler.build(EXECUTABLE, pack, [stub, packer, *parts])
        finally:
            compiler.remember()
    print(f"{EXECUTABLE}: {EXECUTABLE.stat().st_size / 1e6:.1f} MB")
    return 0


def fetch_zstd(compiler: Compiler) -> Path:
    """Fetches zstd's source and licence; returns their folder."""
    zstd = WORK / "zstd"
    fetcher = ROOT / "packaging" / "fetch_zstd.py"
    compiler.build(zstd, [str(PYTHON), str(fetcher), f"{zstd}.new"], [fetcher])
    return zstd


def freeze(compiler: Compiler, zstd: Path) -> Path:
    """Runs PyInstaller; returns the folder."""
    spec = ROOT / "packaging" / "ignis.spec"
    inputs = [spec, ROOT / "packaging" / "licences.py", ROOT / "packaging" / "lock.toml", zstd / "LICENSE"]
    inputs += [
        CORE,
        CPU_LEAF,
        *([CUDA_LEAF] if CUDA_LEAF.exists() else []),
        ROOT / "LICENSE",
        *(ROOT / "spec").glob("*.*"),
    ]
    inputs += [file for top in ("ignis", "ui") for file in (ROOT / top).rglob("*") if file.suffix in SHIPPED_SUFFIXES]
    folder = WORK / "frozen"
    options = [
        "--noconfirm",
        "--log-level",
        "ERROR",
        "--distpath",
        f"{folder}.new",
        "--workpath",
        str(WORK / "pyinstaller"),
    ]
    compiler.build(folder, [str(PYTHON), "-m", "PyInstaller", *options, str(spec)], sorted(inputs))
    return folder / "ignis-server"


def build_stub(compiler: Compiler, zstd: Path) -> Path:
    """Compiles the stub with zstd's decoder in it; returns its path."""
    decoder = WORK / "zstd.o"
    flags = ["-O2", "-ffunction-sections", "-fdata-sections"]
    gcc = find_tool("CC", "gcc")
    compiler.build(decoder, [gcc, *flags, "-c", str(zstd / "zstd.c"), "-o", f"{decoder}.new"], [zstd / "zstd.c"])
    source = ROOT / "packaging" / "stub.c"
    version = re.search(r'VERSION = "(.+)"', (ROOT / "ignis" / "version.py").read_text())
    assert version is not None
    # Static where libc comes that way, for a faster start; what is behind the stub needs this system's libc anyway.
    libc = subprocess.run([gcc, "-print-file-name=libc.a"], capture_output=True, text=True).stdout.strip()
    static = ["-static"] if Path(libc).is_absolute() else []
    warnings = ["-Wall", "-Wextra", "-Werror", f'-DIGNIS_VERSION="{version[1]}"', f"-I{zstd}"]
    stub = WORK / "stub"
    command = [gcc, *flags, *warnings, str(source), str(decoder), *static, "-Wl,--gc-sections,-s", "-o", f"{stub}.new"]
    compiler.build(stub, command, [source, decoder])
    return stub


# --- small things ---------------------------------------------------------------------------------------------------


def unwind_when_terminated() -> None:
    """Makes SIGTERM and SIGHUP end this process as Ctrl-C does: what was compiled until then is remembered."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Whom nohup made deaf stays so.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def run(command: Sequence[str | Path]) -> int:
    return subprocess.run([str(part) for part in command], cwd=ROOT).returncode


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_stamp(stamp: Path) -> str | None:
    try:
        return stamp.read_text()
    except OSError:
        return None


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Says what is being done and how long it took."""
    print(f"{text} ...", file=sys.stderr, flush=True)
    started = time.monotonic()
    yield
    print(f"  {time.monotonic() - started:5.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    unwind_when_terminated()
    sys.exit(main(sys.argv[1:]))
