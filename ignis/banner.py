"""The lines that tell a person at the terminal where the server is. Prints nothing itself."""

import json
import shlex
from collections.abc import Mapping

from ignis.units import Address, shown_size

# One that the smallest models answer well: at the capital of France, SmolLM2-135M runs away every other time.
QUESTION = "Explain photosynthesis in two sentences."


def banner(bound: Address, has_ui: bool, bearer: str | None = None) -> str:
    """Returns the lines: the API's address, the Playground's, and a curl line that works when pasted.

    Args:
        bound: what the listener is really bound to, so its port is never 0. A wildcard host is shown as the loopback's.
        bearer: what clients must send: a key that was made at start, or "$IGNIS_SERVER_API_KEY" for one of the user's
            own, which is not shown. None where no key is asked for.
    """
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bound.host, bound.host)
    url = f"http://{Address(host, bound.port)}"
    body = json.dumps({"stream": True, "messages": [{"role": "user", "content": QUESTION}]})
    parts = ["curl", "-N", f"{url}/v1/chat/completions", "-H", "'Content-Type: application/json'"]
    if bearer is not None:
        parts += ["-H", f'"Authorization: Bearer {bearer}"']
    parts += ["-d", shlex.quote(body)]
    lines = [f"ignis is listening on {url}/v1"]
    if has_ui:
        lines.append(f"  Playground  {url}/ui/")
    lines.append(f"  Try it      {' '.join(parts)}")
    return "\n".join(lines)


def summary(
    name: str, device: str, lines: Mapping[str, int], *, pool_tokens: int, max_context: int, load_s: float
) -> str:
    """Returns the line that says what serves, on what, and where memory went: `lines` are the memory plan's, bytes."""
    rest = sum(lines.values()) - lines["weights"] - lines["kv_pool"]
    return (
        f"{name} serves on {device}, loaded in {load_s:.1f} s: weights {shown_size(lines['weights'])}, "
        f"KV pages {shown_size(lines['kv_pool'])} ({pool_tokens:,} tokens), the rest {shown_size(rest)}; "
        f"{max_context:,} tokens a request"
    )
