"""Cuts the network off for processes: nothing but this machine can be reached, and whoever tries is written down.

By a library that is loaded before all others, as a namespace of its own needs rights that a CI may lack.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")
_WAYS_OUT = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy")
"""A proxy on this machine could still be reached, and what it was asked for would be seen by nobody."""


@dataclass(frozen=True, slots=True)
class CutOff:
    library: Path
    tried: Path

    @classmethod
    def of(cls, folder: Path) -> "CutOff":
        """The one whose library is compiled into the folder."""
        return cls(folder / "cut_off.so", folder / "tried")

    @classmethod
    def make(cls, folder: Path) -> "CutOff":
        """Compiles the library into the folder, unless it is there."""
        made = cls.of(folder)
        if made.library.exists():
            return made
        options = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", f'-DTRIED="{made.tried}"', "-Wall", "-Werror"]
        subprocess.run(["gcc", *options, "-o", made.library, _SOURCE, "-ldl"], check=True)
        return made

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The same, for a process that is to be cut off, with all that it starts."""
        kept = {name: value for name, value in environment.items() if name.lower() not in _WAYS_OUT}
        return kept | {"LD_PRELOAD": " ".join(filter(None, (str(self.library), environment.get("LD_PRELOAD"))))}

    def holds(self, process_id: int) -> bool:
        """Tells whether a process that runs is cut off."""
        return str(self.library) in Path(f"/proc/{process_id}/maps").read_text()

    def attempts(self) -> list[str]:
        """What was tried so far: the call, and where to."""
        return self.tried.read_text().splitlines() if self.tried.exists() else []
