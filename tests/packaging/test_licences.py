"""The executable brings the licence of everything that it has inside."""

import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_everything_inside_the_executable_has_its_licence(executable: Path, tmp_path: Path) -> None:
    environ = {"IGNIS_CACHE": str(tmp_path)}
    told = subprocess.run(
        [executable, "version", "--licenses"], env=environ, capture_output=True, text=True, check=True
    )
    files = [Path(line) for line in told.stdout.splitlines()[1:]]
    assert all(file.stat().st_size > 0 for file in files)
    [licences] = tmp_path.glob("*/ignis-server/_internal/licenses")
    named = {file.parent.name for file in files if file.parent.parent == licences}
    pins = tomllib.loads((ROOT / "packaging" / "lock.toml").read_text(encoding="utf-8"))["runtime"]
    assert named >= {pin.partition("==")[0] for pin in pins} | {"python", "zstd", "pyinstaller"}
    page = {file.name for file in (ROOT / "ui" / "vendor" / "licences").iterdir()}
    assert {file.name for file in files} >= page | {"OFL-1.1.txt"}
    # A library of a package is a link into the package's own folder.
    libraries = {file.name for file in licences.parent.glob("lib*.so*") if not file.is_symlink()}
    assert named >= {name for name in libraries if not name.startswith("libpython")}
