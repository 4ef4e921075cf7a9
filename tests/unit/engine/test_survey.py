"""What is read of models that were never loaded: each file once, and not for ever."""

import json
import os
from pathlib import Path

import pytest

from ignis.engine import survey as surveyed
from ignis.engine.survey import Survey
from ignis.models.local import LocalModel, measured
from ignis.models.registry import open_checkpoint
from tests.e2e.small_folder import write_small_folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was read."""
    names: list[str] = []

    def note(path: Path) -> object:
        names.append(path.name)
        return open_checkpoint(path)

    monkeypatch.setattr(surveyed, "open_checkpoint", note)
    return names


def models(folder: Path, *names: str) -> list[LocalModel]:
    for name in names:
        if name != "bad" and not (folder / name / name).exists():
            write_small_folder(folder / name / name)
    return measured(LocalModel(name, folder / name / name, {"temperature": 0.5}) for name in names)


def test_a_file_is_read_once_for_each_of_its_states(tmp_path: Path, opened: list[str]) -> None:
    survey, (good, bad) = Survey(), models(tmp_path, "good", "bad")
    for _ in range(2):
        survey.read([good, bad], 60)
    facts = survey.known(good)
    assert opened == ["good", "bad"] and survey.known(bad) is None
    assert facts is not None and (facts.name, facts.family) == ("good", "llama")
    assert facts.sampling_defaults == {"temperature": 0.5}
    (tmp_path / "good" / "good" / "config.json").write_text("{}")
    os.utime(tmp_path / "good" / "good", (1, 1))
    changed, _ = models(tmp_path, "good", "bad")
    assert survey.known(changed) is None
    survey.read([changed, bad], 60)
    assert opened == ["good", "bad", "good"] and survey.known(changed) is None


def test_a_folder_that_was_seen_before_it_was_whole_is_read_again(tmp_path: Path, opened: list[str]) -> None:
    survey, (model,) = Survey(), models(tmp_path, "good")
    folder = model.path
    tokenizer = (folder / "tokenizer.json").rename(tmp_path / "tokenizer.json")

    def looked() -> object:
        # All within one second.
        (found,) = models(tmp_path, "good")
        survey.read([found], 60)
        return survey.known(found)

    def times(name: str, second: int, nanosecond: int) -> None:
        os.utime(folder / name, ns=(0, second * 10**9 + nanosecond))

    times("", 2**31, 1)
    assert looked() is None
    tokenizer.rename(folder / "tokenizer.json")
    times("", 2**31, 2)
    before = looked()
    assert before is not None and looked() is before
    # Written in place, so that its folder's own time stays.
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 128}))
    times("config.json", 2**31 + 1, 0)
    after = looked()
    assert (before.max_context, after.max_context) == (256, 128)  # type: ignore[attr-defined]


def test_what_takes_too_long_is_left_to_the_next_look(tmp_path: Path, opened: list[str]) -> None:
    times = iter(range(100))
    survey, found = Survey(lambda: float(next(times))), models(tmp_path, "a", "b", "c", "d")
    survey.read(found, 1.5)
    assert opened == ["a", "b"]
    survey.read(found, 0)
    assert opened == ["a", "b", "c"]
    survey.read(found, 60)
    assert opened == ["a", "b", "c", "d"] and all(map(survey.known, found))
