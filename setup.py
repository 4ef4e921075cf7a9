"""Lets `pip install .` and `pip wheel .` use build.py's native rules; the wheel carries _core, leaf, spec/ and ui/."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


def load_build() -> ModuleType:
    """Imports build.py by its path: the name belongs to a PyPI package too."""
    spec = importlib.util.spec_from_file_location("ignis_build", ROOT / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BuildNative(build_ext):
    """Has build.py compile, and copies what it made, with the shipped files, into the wheel's tree."""

    def run(self) -> None:
        build = load_build()
        build.native(Path(sys.executable))
        package = Path(self.build_lib) / "ignis"
        data = package / "data"
        data.mkdir(parents=True, exist_ok=True)
        shutil.copy2(build.CORE, package)
        for leaf in (build.CPU_LEAF, build.CUDA_LEAF):
            if leaf.exists():
                shutil.copy2(leaf, data)
        shutil.copytree(ROOT / "ui", data / "ui", dirs_exist_ok=True)
        (data / "spec").mkdir(exist_ok=True)
        for name in ("catalog.toml", "openapi.json"):
            shutil.copy2(ROOT / "spec" / name, data / "spec")


setup(ext_modules=[Extension("ignis._core", [])], cmdclass={"build_ext": BuildNative})
