"""schemathesis against the running server: nothing makes it fail, and it answers only what the document says."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e.schema_hooks import MOST_TOKENS
from tests.e2e.server import Server

FUZZING_S = 35
COVERAGE_S = 10
SEED = 20261129
KEY = "a-key-of-the-test"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)
# A stream without an end, and what takes the model away from the other requests.
LEFT_OUT = ("/v1/models/events", "/v1/models/unload")
# Their bodies have a case for each value of each field: thousands, which fuzzing draws from in place of trying all.
LARGE = "^/v1/(chat/completions|completions|messages|messages/count_tokens|responses|responses/input_tokens|tokenize)$"


def test_the_document_says_all_that_the_server_answers(start_server: Callable[..., Server], tmp_path: Path) -> None:
    # A body that names no cap would draw to the end of the context.
    with start_server("--server-api-key", KEY, "--model-default-max-tokens", str(MOST_TOKENS)) as server:
        # The readiness of a server that loads is a 503.
        before = server.metric("ignis_http_requests_total", status="5xx")
        _run(server, tmp_path, "fuzzing", FUZZING_S)
        _run(server, tmp_path, "coverage", COVERAGE_S, "--exclude-path-regex", LARGE)
        assert server.metric("ignis_http_requests_total", status="5xx") == before


def _run(server: Server, folder: Path, phase: str, limit_s: int, *options: str) -> None:
    """Has one phase of schemathesis try the server for so long; a failure of it is one of the test."""
    run = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"{server.base_url}/openapi.json",
            *("--header", f"Authorization: Bearer {KEY}"),
            *("--phases", phase),
            *("--checks", ",".join(CHECKS)),
            *(option for path in LEFT_OUT for option in ("--exclude-path", path)),
            *("--max-time", str(limit_s)),
            *("--request-timeout", "30"),
            *("--seed", str(SEED)),
            *("--warnings", "off"),
            "--continue-on-failure",
            "--no-color",
            *options,
        ],
        cwd=folder,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.e2e.schema_hooks",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        },
        capture_output=True,
        text=True,
        timeout=limit_s + 60,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2_000:]
