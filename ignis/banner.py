"""The lines that tell a person at the terminal where the server is. Prints nothing itself."""

import json
import shlex
from collections.abc import Mapping, Sequence

from ignis.units import Address, Bind, UnixPath, shown_size

# One that the smallest models answer well: at the capital of France, SmolLM2-135M runs away every other time.
QUESTION = "Explain photosynthesis in two sentences."


def banner(
    binds: Sequence[Bind],
    *,
    has_tls: bool = False,
    has_ui: bool = True,
    bearer: str | None = None,
    metrics: Address | None = None,
) -> str:
    """Returns the lines: the API's addresses, the Playground's, the metrics', and a curl line that works when pasted.

    Args:
        binds: what is really bound to, so that no port is 0. A wildcard host is shown as the loopback's.
        has_tls: whether the API's hosts speak HTTPS.
        bearer: what clients must send: a key that was made at start, or "$IGNIS_SERVER_API_KEY" for one of the user's
            own, which is not shown. None where no key is asked for.
        metrics: where they are; None where they are not served.
    """
    urls = [url_of(bind, has_tls=has_tls) for bind in binds]
    lines = [f"ignis is listening on {urls[0]}{_api(binds[0])}"]
    lines += [f"                  and {url}{_api(bind)}" for bind, url in zip(binds[1:], urls[1:], strict=True)]
    page = page_of(binds, has_tls=has_tls)
    if has_ui and page is not None:
        lines.append(f"  Playground  {page}")
    if metrics is not None:
        lines.append(f"  Metrics     {url_of(metrics)}/metrics")
    hosts = [url for bind, url in zip(binds, urls, strict=True) if isinstance(bind, Address)]
    lines.append(f"  Try it      {_curl(binds[0], hosts[0] if hosts else None, bearer)}")
    return "\n".join(lines)


def page_of(binds: Sequence[Bind], *, has_tls: bool = False) -> str | None:
    """Where the Playground is for a browser; None where the API has Unix sockets alone."""
    host = next((bind for bind in binds if isinstance(bind, Address)), None)
    return None if host is None else f"{url_of(host, has_tls=has_tls)}/ui/"


def url_of(bind: Bind, *, has_tls: bool = False) -> str:
    """Where a client finds an address: a URL, or a Unix socket as it is."""
    if isinstance(bind, UnixPath):
        return str(bind)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bind.host, bind.host)
    return f"{'https' if has_tls else 'http'}://{Address(host, bind.port)}"


def _api(bind: Bind) -> str:
    return "/v1" if isinstance(bind, Address) else ""


def _curl(bind: Bind, url: str | None, bearer: str | None) -> str:
    """One command. A host is nicer to paste than a socket, where there is one."""
    body = json.dumps({"stream": True, "messages": [{"role": "user", "content": QUESTION}]})
    parts = ["curl", "-N"]
    if url is None:
        assert isinstance(bind, UnixPath)
        parts += ["--unix-socket", shlex.quote(str(bind.path))]
    parts += [f"{url or 'http://localhost'}/v1/chat/completions", "-H", "'Content-Type: application/json'"]
    if bearer is not None:
        parts += ["-H", f'"Authorization: Bearer {bearer}"']
    return " ".join([*parts, "-d", shlex.quote(body)])


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
