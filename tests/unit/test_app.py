"""What the server's start and the command line do at moments that no request sees."""

import os
import sys
from pathlib import Path

import pytest

from ignis import app
from ignis.app import _say
from ignis.cli import main
from ignis.engine.opening import modified_unix_s
from ignis.models.registry import open_checkpoint
from tests.unit.models.writers import tiny_gguf


def test_a_model_has_its_date_though_its_file_is_gone(tmp_path: Path) -> None:
    path = tiny_gguf().write(tmp_path / "model.gguf")
    modified_s = int(path.stat().st_mtime)
    checkpoint = open_checkpoint(path)
    path.unlink()
    assert modified_unix_s(checkpoint) == modified_s
    checkpoint.close()


def test_ctrl_c_before_the_server_listens_for_it_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def serve(_app: object) -> None:
        raise BaseExceptionGroup("", [KeyboardInterrupt()])

    monkeypatch.setattr(app._App, "serve", serve)
    assert main(["serve", "--server-bind", "127.0.0.1:0"]) == 130
    assert "fault" not in capsys.readouterr().err


def test_an_output_that_nobody_reads_ends_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        _say("the model serves")
        _say("again")
