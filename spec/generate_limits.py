"""Derives spec/reference/limits.md from the constants of ignis/limits.py; run by spec/generate.py."""

import ast
from pathlib import Path

from generate_source import ROOT

HEAD = """\
# Limits

How much one request may hold. More is refused by name: a 400 whose `param` is the field, unless the row says otherwise.
Made of `ignis/limits.py` by `spec/generate.py`; do not edit. What has a field of the configuration is in
`ignis-server help --fields`: `server.max_body_bytes` (413), `server.max_connections` (503), `model.max_context`,
`model.decode_lanes` (503 with `Retry-After`).

| constant | value | of |
|---|---:|---|
"""


def limits() -> dict[Path, str]:
    tree = ast.parse((ROOT / "ignis" / "limits.py").read_text(encoding="utf-8"))
    rows = []
    for statement, text in zip(tree.body, tree.body[1:], strict=False):
        if not isinstance(statement, ast.Assign):
            continue
        name = ast.unparse(statement.targets[0])
        if not (isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)):
            raise SystemExit(f"ignis/limits.py: {name} has no text")
        value = eval(compile(ast.Expression(statement.value), "ignis/limits.py", "eval"), {})
        rows.append(f"| `{name}` | {value:,} | {text.value.value} |\n")
    return {ROOT / "spec" / "reference" / "limits.md": HEAD + "".join(rows)}
