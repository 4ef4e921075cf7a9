"""A machine that reaches a static mirror of two models and nothing else."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.cut_off import CutOff
from tests.e2e.server import Server
from tests.e2e.small_folder import write_small_folder
from tests.fakes.mirror import Mirror
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]


def fill(mirror: Mirror, first: Path, folder: Path) -> None:
    """Has this model as `first` and a small one, of several files, as `second`; the catalog lies in the folder."""
    write_small_folder(folder / "source" / "second")
    second = {file.name: file.read_bytes() for file in (folder / "source" / "second").iterdir()}
    offer(mirror, folder, {"first": {"first.gguf": first.read_bytes()}, "second": second})


def offer(mirror: Mirror, folder: Path, models: Mapping[str, Mapping[str, bytes]]) -> None:
    """Has the files of these models, and a catalog of them in the folder."""
    entries = []
    for id, files in models.items():
        mirror.files |= {f"/owner/{id}/resolve/v1/{name}": content for name, content in files.items()}
        pins = [
            {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        ]
        entries.append({"id": id, "repo": f"owner/{id}", "revision": "v1", "files": pins, "licence": "MIT"})
    (folder / "catalog.json").write_text(json.dumps({"model": entries}))


def environment(mirror: Mirror, folder: Path, id: str = "first") -> dict[str, str]:
    """Nothing that is not on this machine can be reached: `attempts` tells who tried."""
    return CutOff.make(folder).environment(os.environ) | {
        "PYTHONPATH": str(ROOT),
        "IGNIS_LOG_FORMAT": "json",
        "IGNIS_DOWNLOAD_ENDPOINT": mirror.url,
        "IGNIS_DOWNLOAD_CATALOG": str(folder / "catalog.json"),
        "IGNIS_DOWNLOAD_PATH": str(folder / "models"),
        "IGNIS_MODEL_ID": id,
        "IGNIS_DEVICE": "cpu",
    }


def attempts(folder: Path) -> list[str]:
    """What those who were started in this environment tried beyond the machine."""
    return CutOff.of(folder).attempts()


def serve(mirror: Mirror, folder: Path, *flags: str) -> Server:
    command = [sys.executable, "-m", "ignis", *flags]
    return Server(command, free_port(), free_port(), folder / "log", environment(mirror, folder))
