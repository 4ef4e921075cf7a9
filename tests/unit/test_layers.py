"""What import-linter cannot see: the compiled core, the C side, the page's modules, and the pins."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# folder of cuda/: the folders that it may include from, itself apart. host/, kernels/ and models/ meet in ops.h alone.
C_LAYERS = {
    "include": set(),
    "base": {"include"},
    "quant": {"include", "base"},
    "ops": {"include", "base", "quant"},
    "models": {"include", "base", "quant", "ops"},
    "host": {"include", "base", "quant", "ops"},
    "kernels": {"include", "base", "quant", "ops", "numba"},
    "numba": set(),
    "leaf": {"include", "base", "quant", "ops", "models"},
}
CORE_USERS = {"scheduler", "engine"}
SYNCHRONOUS = ("scheduler", "stream", "chat")


def python_files() -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted((ROOT / "ignis").rglob("*.py")):
        yield file.relative_to(ROOT / "ignis"), ast.parse(file.read_text(encoding="utf-8"))


def imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_scheduler_and_engine_import_the_core() -> None:
    users = {
        file.parts[0]
        for file, tree in python_files()
        if any(f"{name}.".startswith("ignis._core.") for name in imported_names(tree))
    }
    assert users <= CORE_USERS


def test_the_contract_on_protocols_lists_every_package_but_server() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = [contract for contract in linter["contracts"] if contract["id"] == "protocols"]
    parts = {file.parts[0].removesuffix(".py") for file, _ in python_files()} - {"__init__", "server"}
    assert sorted(contract["source_modules"]) == sorted(f"ignis.{part}" for part in parts)


def test_the_middle_has_no_async_functions() -> None:
    found = [
        f"{file}: {node.name}"
        for file, tree in python_files()
        if file.parts[0] in SYNCHRONOUS
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert found == []


def test_c_files_include_from_lower_layers_only() -> None:
    wrong = []
    for file in sorted((ROOT / "cuda").rglob("*.*")):
        if file.suffix not in (".h", ".cpp", ".c", ".cu", ".cuh", ".inc"):
            continue
        layer = file.relative_to(ROOT / "cuda").parts[0]
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(encoding="utf-8"), re.MULTILINE):
            included = (file.parent / name).resolve().relative_to(ROOT / "cuda").parts[0]
            if included != layer and included not in C_LAYERS[layer]:
                wrong.append(f"{file.relative_to(ROOT)} includes {name}")
    assert wrong == []


def test_every_c_source_is_compiled() -> None:
    units = tomllib.loads((ROOT / "cuda" / "SOURCES.toml").read_text(encoding="utf-8"))["unit"]
    listed = {unit["source"] for unit in units}
    there = {
        str(file.relative_to(ROOT / "cuda")) for file in (ROOT / "cuda").rglob("*.c*") if file.suffix in (".cpp", ".cu")
    }
    assert listed == there


def test_the_page_loads_nothing_from_another_host_and_runs_nothing_inline() -> None:
    files = [file for file in sorted((ROOT / "ui").rglob("*.*")) if "node_modules" not in file.parts]
    for file in files:
        # What others wrote is held to by its hash, and by the policy that the page is sent with.
        if "vendor" in file.parts:
            continue
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".html":
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", text), file
            assert not re.search(r'(?:src|href)="(?:https?:)?//', text), file
        if file.suffix == ".js":
            assert re.findall(r'(?<!")\b(?:from|import)\s*\(?"(?!\.\.?/)[^"]*"', text) == [], file
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), file


def test_the_executable_is_made_without_numba_and_llvm() -> None:
    spec = (ROOT / "packaging" / "ignis.spec").read_text(encoding="utf-8")
    (excludes,) = re.findall(r"^EXCLUDES = (\[.+?\])", spec, re.MULTILINE | re.DOTALL)
    assert {"cuda", "llvmlite", "numba", "numba_cuda"} <= set(ast.literal_eval(excludes))


def test_the_lock_holds_the_direct_pins_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = tomllib.loads((ROOT / "packaging" / "lock.toml").read_text(encoding="utf-8"))
    assert set(project["project"]["dependencies"]) <= set(lock["runtime"])
    for group, pins in project["dependency-groups"].items():
        assert set(pins) <= set(lock[group]), group


def test_every_pin_of_the_lock_is_exact() -> None:
    lock = tomllib.loads((ROOT / "packaging" / "lock.toml").read_text(encoding="utf-8"))
    for pins in lock.values():
        assert all(re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", pin) for pin in pins)
