"""Derives spec/reference/command-line.md from the commands of ignis/commands.py; run by spec/generate.py."""

import importlib
import sys
from pathlib import Path

from generate_source import ROOT

HEAD = """\
# The command line

Made of `ignis/commands.py` by `spec/generate.py`; do not edit. `ignis-server help <command>` says the same. Options of
the configuration (`[options]`) are in `ignis-server help --fields`.

| command | |
|---|---|
"""
STATUSES = """
Where a machine reads, `--json` prints one JSON document on standard output. Progress and errors go to standard error:
progress as a bar on a terminal, else as a JSON object a line.

## Exit status

| status | |
|---:|---|
"""
COMPLETION = """
## Completion

| shell | in its start file |
|---|---|
| bash | `source <(ignis-server completion bash)` |
| zsh | `source <(ignis-server completion zsh)`, after `compinit` |
| fish | `ignis-server completion fish \\| source` |
"""


def commands() -> dict[Path, str]:
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    declared = importlib.import_module("ignis.commands")
    rows = []
    for command in declared.COMMANDS:
        options = "; ".join(f"`{option.flag}` {option.text}" for option in command.options)
        usage = command.usage.replace("|", "\\|")
        rows.append(f"| `{usage}` | {command.text}{f'. {options}' if options else ''} |\n")
    statuses = [f"| {status} | {text} |\n" for status, text in declared.EXIT_STATUSES.items()]
    text = HEAD + "".join(rows) + STATUSES + "".join(statuses) + COMPLETION
    return {ROOT / "spec" / "reference" / "command-line.md": text}
