"""What a client that asks at a wrong path may have meant: a served path, or the word that something is not served."""

import difflib
from collections.abc import Collection

_CHAT = "/v1/chat/completions"
_TEXT = "/v1/completions"
_MODELS = "/v1/models"

FOREIGN = {
    # Ollama
    "/api/chat": _CHAT,
    "/api/generate": _TEXT,
    "/api/tags": _MODELS,
    "/api/show": _MODELS,
    "/api/ps": _MODELS,
    # llama-server
    "/completion": _TEXT,
    "/props": _MODELS,
    # Text Generation Inference
    "/generate": _TEXT,
    "/generate_stream": _TEXT,
    # probes of a container's health
    "/healthz": "/health",
    "/livez": "/health",
    "/readyz": "/health",
    "/ping": "/health",
    "/v1/health": "/health",
}
"""Paths of other servers, and where the same is had here."""

NOT_SERVED = {
    "embeddings": "embeddings are",
    "rerank": "reranking is",
    "audio": "audio is",
    "batches": "batches are",
    "files": "files are",
    "fine_tuning": "fine-tuning is",
    "moderations": "moderation is",
    "realtime": "the realtime API is",
    "assistants": "the Assistants API is",
    "threads": "the Assistants API is",
}
"""What clients of OpenAI may ask for below /v1/, and this server does not do."""

ELSEWHERE = {
    "/metrics": "metrics have a listener of their own, at server.metrics_bind",
    "/v1/metrics": "metrics have a listener of their own, at server.metrics_bind",
    "/version": "/v1/models has the version as build",
}
"""What is had in another way than clients ask for it."""

_PREFIXES = ("/v1", "/api", "/openai", "/anthropic")
_MAX_PREFIXES = 3
_CUTOFF = 0.85


def hint(path: str, served: Collection[str]) -> str:
    """Returns `; did you mean <path>?`, where it is had, what is not served, or nothing. `served`: the paths that are
    whole ones."""
    bare = "/" + "/".join(part for part in path.lower().split("/") if part)
    if bare in ELSEWHERE:
        return f"; {ELSEWHERE[bare]}"
    meant = _meant(bare, served)
    if meant is not None:
        return f"; did you mean {meant}?"
    for prefix in ("/v1/", "/api/", "/"):
        what = NOT_SERVED.get(bare.removeprefix(prefix).partition("/")[0])
        if bare.startswith(prefix) and what is not None:
            return f"; {what} not served"
    return ""


def _meant(bare: str, served: Collection[str]) -> str | None:
    if bare in FOREIGN and FOREIGN[bare] in served:
        return FOREIGN[bare]
    # With /v1 forgotten, or written twice, as where a base URL has it and the client adds it too.
    rest = bare
    for _ in range(_MAX_PREFIXES):
        for candidate in (rest, f"/v1{rest}"):
            if candidate in served:
                return candidate
        prefix = next((prefix for prefix in _PREFIXES if rest.startswith(f"{prefix}/")), None)
        if prefix is None:
            break
        rest = rest.removeprefix(prefix)
    close = difflib.get_close_matches(bare[:200], list(served), n=1, cutoff=_CUTOFF)
    return close[0] if close else None
