"""Whole models out of a mirror by catalog id: the command line, several files, and the disk."""

import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ignis.catalog import CatalogModel, load_catalog
from ignis.cli import main
from ignis.commands import BY_WORDS
from ignis.config_fields import DownloadConfig
from ignis.errors import DownloadError, ModelFileError, ModelNotFoundError
from ignis.fetching import fetch_model
from ignis.halt import Halt, StoppedError
from ignis.hub import HubFile
from ignis.models.local import LocalModels
from ignis.on_disk import verified_models
from ignis.pinned import PinnedFile, locked, remove, verified
from tests.fakes.mirror import Handler, Mirror, reply, serving

FILES = {"config.json": b"{}", "tokenizer.json": bytes(5000), "a.safetensors": bytes(range(256)) * 4096}
FILES |= {"b.safetensors": bytes(2 << 20)}
ONE = "one.gguf"


def entry_of(id: str, files: dict[str, bytes], **more: object) -> dict[str, object]:
    pins = [{"name": n, "bytes": len(b), "sha256": hashlib.sha256(b).hexdigest()} for n, b in files.items()]
    return {"id": id, "repo": f"owner/{id}", "revision": "abc", "files": pins, **more}


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    with serving() as mirror:
        for name, content in FILES.items():
            mirror.files[f"/owner/folder/resolve/abc/{name}"] = content
        mirror.files[f"/owner/one/resolve/abc/{ONE}"] = FILES["a.safetensors"]
        entries = [entry_of("folder", FILES), entry_of("one", {ONE: FILES["a.safetensors"]}, licence="MIT")]
        (tmp_path / "catalog.json").write_text(json.dumps({"model": entries}))
        yield mirror


def folder_entry(folder: Path) -> CatalogModel:
    return load_catalog(folder / "catalog.json").models["folder"]


def settings(mirror: Mirror, folder: Path) -> DownloadConfig:
    return DownloadConfig(endpoint=mirror.url, path=folder / "models")


def flags(mirror: Mirror, folder: Path) -> list[str]:
    return [
        f"--download-endpoint={mirror.url}",
        f"--download-catalog={folder / 'catalog.json'}",
        f"--download-path={folder / 'models'}",
    ]


def cut_after(num_bytes: int, handler: Handler, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[:num_bytes])
    handler.close_connection = True


# --- the command line


def test_a_model_is_fetched_by_its_id_and_goes_on_where_it_was_broken_off(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = mirror.files.pop(f"/owner/one/resolve/abc/{ONE}")
    mirror.answers = [lambda handler: cut_after(700_000, handler, body)]
    assert main(["model", "download", "one", *flags(mirror, tmp_path)]) == 1
    assert "HTTP 404" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "models").iterdir()] == [f"{ONE}.part"]
    mirror.files[f"/owner/one/resolve/abc/{ONE}"] = body
    assert main(["model", "download", "one", *flags(mirror, tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out.strip() == str(tmp_path / "models" / ONE)
    assert json.loads(told.err.splitlines()[-1])["done_bytes"] == len(body)
    assert (tmp_path / "models" / ONE).read_bytes() == body
    assert mirror.asked[-1].range == "bytes=700000-"


def test_what_is_here_is_listed(mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = flags(mirror, tmp_path)

    def presences() -> dict[str, str]:
        capsys.readouterr()
        assert main(["model", "list", "--json", *options]) == 0
        return {row["id"]: row["presence"] for row in json.loads(capsys.readouterr().out) if not row["is_local"]}

    assert presences() == {"smollm2-135m-instruct": "absent", "folder": "absent", "one": "absent"}
    assert main(["model", "download", "one", *options]) == 0
    (tmp_path / "models" / "folder").mkdir()
    (tmp_path / "models" / "folder" / "b.safetensors.part").write_bytes(b"x")
    assert presences() == {"smollm2-135m-instruct": "absent", "folder": "partial", "one": "complete"}
    (tmp_path / "models" / ONE).write_bytes(b"another")
    assert presences()["one"] == "foreign"


def test_half_of_a_model_is_not_listed_as_whole_nor_as_a_model_of_ones_own(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = flags(mirror, tmp_path)
    assert main(["model", "download", "one", "folder", *options]) == 0
    os.truncate(tmp_path / "models" / ONE, 1000)
    os.truncate(tmp_path / "models" / "folder" / "b.safetensors", 2000)
    capsys.readouterr()
    assert main(["model", "list", *options]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.partition(", ")[2] for line in lines] == [
        "licence not stated, 3 MB, foreign (b.safetensors has 2000 bytes, not 2097152)",
        "MIT, 1 MB, foreign (one.gguf has 1000 bytes, not 1048576)",
        f"1 kB, local, foreign: {tmp_path}/models/one.gguf",
        f"1 MB, local, foreign: {tmp_path}/models/folder",
    ]
    assert main(["model", "list", "--json", *options]) == 0
    reasons = [row["reason"] for row in json.loads(capsys.readouterr().out)]
    assert reasons[2:4] == ["one.gguf has 1000 bytes, not 1048576", f"not the catalog's: {reasons[2]}"]
    (tmp_path / "models" / ONE).unlink()
    (tmp_path / "models" / "folder" / "b.safetensors").unlink()
    capsys.readouterr()
    assert main(["model", "list", *options]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.partition(", ")[2] for line in lines] == ["licence not stated, 3 MB, partial", "MIT, 1 MB, absent"]


@pytest.mark.parametrize(("id", "file", "place"), [("one", ONE, ONE), ("folder", "folder/a.safetensors", "folder/")])
def test_what_is_not_the_catalogs_has_no_id_of_it(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str], id: str, file: str, place: str
) -> None:
    options = flags(mirror, tmp_path)
    folder = tmp_path / "models"
    assert main(["model", "download", "one", "folder", *options]) == 0
    size_bytes = (folder / file).stat().st_size
    (folder / file).write_bytes(bytes(size_bytes))
    catalog = load_catalog(tmp_path / "catalog.json")
    models = LocalModels(folder, (), lambda: verified_models(catalog, folder))
    with pytest.raises(ModelNotFoundError) as refused:
        models.find(id)
    digests = f"has SHA-256 {hashlib.sha256(bytes(size_bytes)).hexdigest()}, not "
    assert digests in refused.value.message and refused.value.message.endswith(f"; {place} can be named")
    assert str(tmp_path) not in refused.value.message
    assert models.find(place).name == place
    assert {model.name for model in models.all()} == {"one", "folder", place} - {id}
    capsys.readouterr()
    assert main(["model", "list", "--json", *options]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert [(rows[name]["presence"], rows[name]["is_local"]) for name in (id, place)] == [
        ("foreign", False),
        ("foreign", True),
    ]
    assert digests in rows[id]["reason"] and digests in rows[place]["reason"]


def test_what_is_no_file_is_told_by_what_it_is(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "models" / ONE
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        for kind, put in {
            "a FIFO": lambda: os.mkfifo(place),
            "a folder": place.mkdir,
            "a device": lambda: place.symlink_to("/dev/zero"),
            "a socket": lambda: listening.bind(str(place)),
        }.items():
            put()
            for command, status in {"list": 0, "verify": 1, "download": 1}.items():
                words = ["model", command, *(["one"] if command != "list" else []), *flags(mirror, tmp_path)]
                assert main(words) == status
                told = capsys.readouterr()
                assert f"is {kind}" in told.out + told.err
            if place.is_dir():
                place.rmdir()
            else:
                place.unlink()
    assert mirror.asked == []


def test_a_folder_is_nobodys_file_though_it_has_its_size(mirror: Mirror, tmp_path: Path) -> None:
    place = tmp_path / "models" / ONE
    place.mkdir(parents=True)
    pin = PinnedFile(ONE, place.stat().st_size, "0" * 64)
    with pytest.raises(ModelFileError, match="it is a folder"):
        verified(pin, place.parent)
    assert remove(pin, place.parent) == [] and place.is_dir()


def test_models_of_ones_own_are_listed_as_local(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = flags(mirror, tmp_path)
    assert main(["model", "download", "one", *options]) == 0
    (tmp_path / "models" / "mine.gguf").write_bytes(bytes(2_600_000))
    own = tmp_path / "models" / "owner" / "folder-model"
    own.mkdir(parents=True)
    (own / "config.json").write_text("{}")
    (own / "model.safetensors").write_bytes(bytes(7))
    options += ["--switch-known-models", f"far={tmp_path}/far.gguf"]
    capsys.readouterr()
    assert main(["model", "list", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "local" in line] == [
        f"far  GGUF, 0 bytes, local, absent: {tmp_path}/far.gguf",
        f"mine  GGUF, 3 MB, local, complete: {tmp_path}/models/mine.gguf",
        f"folder-model  safetensors, 7 bytes, local, complete: {own}",
    ]
    # What the catalog has is told once.
    assert [line.split()[0] for line in lines if "local" not in line] == ["smollm2-135m-instruct", "folder", "one"]
    assert main(["model", "list", "--json", *options]) == 0
    catalogued, *_, local = json.loads(capsys.readouterr().out)
    assert local.keys() == catalogued.keys() and (local["is_local"], catalogued["is_local"]) == (True, False)


def test_commands_take_a_model_of_ones_own_or_say_why_not(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = flags(mirror, tmp_path)
    mine = tmp_path / "models" / "mine.gguf"
    mine.parent.mkdir()
    mine.write_bytes(bytes(7))
    assert main(["model", "info", "mine", "one", "--json", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["is_local"], row["size_bytes"], len(row["files"])) for row in told] == [
        ("mine", True, 7, 0),
        ("one", False, len(FILES["a.safetensors"]), 1),
    ]
    assert main(["model", "info", "mine", *options]) == 0
    assert f"path: {mine}" in capsys.readouterr().out
    for command, why in {
        "verify": "no digest of it is known that it could be held against",
        "remove": "only what was fetched is removed; it is yours to delete",
        "download": "it is here",
    }.items():
        assert main(["model", command, "mine", *options]) == 2
        assert capsys.readouterr().err == f"ignis-server: 'mine' is a model of your own, at {mine}: {why}\n"
    # A completion offers what all of them take.
    capsys.readouterr()
    assert main(["model", "list", "--ids", *options]) == 0
    assert capsys.readouterr().out.split() == ["smollm2-135m-instruct", "folder", "one"]
    assert [option.text for option in BY_WORDS["model list"].options if option.flag == "--ids"] == [
        "the catalog's ids alone, one a line"
    ]
    assert main(["model", "info", "minee", *options]) == 2
    assert "the catalog has no model 'minee'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_read_takes_no_other_model_out_of_the_list(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = flags(mirror, tmp_path)
    assert main(["model", "download", "one", *options]) == 0
    (tmp_path / "models" / "folder").symlink_to("folder")
    capsys.readouterr()
    assert main(["model", "list", "--json", *options]) == 0
    found = {row["id"]: row["presence"] for row in json.loads(capsys.readouterr().out)}
    assert found == {"smollm2-135m-instruct": "absent", "folder": "unreadable", "one": "complete"}


def test_several_models_are_fetched_though_one_fails(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.files.pop(f"/owner/one/resolve/abc/{ONE}")
    assert main(["model", "download", "one", "folder", *flags(mirror, tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.out.strip() == str(tmp_path / "models" / "folder")
    assert "one: " in told.err and "HTTP 404" in told.err


def test_a_download_goes_where_it_is_told(mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = flags(mirror, tmp_path)[:2]
    assert main(["model", "download", "one", "--out", str(tmp_path / "elsewhere"), *options]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "elsewhere" / ONE)


def test_a_changed_file_is_found_by_verify(mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = flags(mirror, tmp_path)
    assert main(["model", "verify", "one", *options]) == 1
    assert main(["model", "download", "one", *options]) == 0
    assert main(["model", "verify", *options]) == 0
    path = tmp_path / "models" / ONE
    # With the times of before, as a disk that loses a bit leaves them.
    path.write_bytes(bytes(path.stat().st_size))
    capsys.readouterr()
    assert main(["model", "verify", *options]) == 1
    assert "one: " in capsys.readouterr().out


def test_a_model_is_removed_with_all_that_is_its_own(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = flags(mirror, tmp_path)
    assert main(["model", "download", "one", "folder", *options]) == 0
    (tmp_path / "models" / "mine.gguf").write_bytes(b"mine")
    assert main(["model", "remove", "one", "folder", *options]) == 0
    assert [file.name for file in (tmp_path / "models").iterdir()] == ["mine.gguf"]
    (tmp_path / "models" / ONE).write_bytes(b"foreign")
    assert main(["model", "remove", "one", *options]) == 0
    assert (tmp_path / "models" / ONE).read_bytes() == b"foreign"


def test_a_model_that_is_being_fetched_is_not_removed(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = flags(mirror, tmp_path)
    assert main(["model", "download", "folder", *options]) == 0
    folder = tmp_path / "models" / "folder"
    part = (folder / "b.safetensors").rename(folder / "b.safetensors.part")
    capsys.readouterr()
    with locked(part, Halt()):
        assert main(["model", "remove", "folder", *options]) == 1
    said = "b.safetensors is being fetched: its download has to be stopped first"
    assert capsys.readouterr().err == f"ignis-server: {said}\n"
    assert (folder / "config.json").exists() and part.exists()
    assert main(["model", "remove", "folder", *options]) == 0
    assert not folder.exists()


# --- several files


def test_several_files_come_at_once_into_a_folder(mirror: Mirror, tmp_path: Path) -> None:
    together = threading.Barrier(len(FILES) - 1, timeout=20)

    def meet(handler: Handler) -> None:
        # Passed only when all of them are asked for at the same time.
        if not handler.path.endswith("config.json"):
            together.wait()
        mirror.serve(handler)

    mirror.answer = meet
    seen: list[tuple[int, int]] = []
    path = fetch_model(
        folder_entry(tmp_path), settings(mirror, tmp_path), lambda done, total, _came: seen.append((done, total))
    )
    assert {name: (path / name).read_bytes() for name in FILES} == FILES
    total = sum(len(content) for content in FILES.values())
    # What makes the folder a model comes last.
    assert mirror.asked[-1].path.endswith("config.json")
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_only_what_came_counts_as_come(mirror: Mirror, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "folder"
    folder.mkdir(parents=True)
    (folder / "a.safetensors").write_bytes(FILES["a.safetensors"])
    (folder / "b.safetensors.part").write_bytes(bytes(1 << 20))
    seen: list[tuple[int, int, int]] = []
    fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *moved: seen.append(moved))
    total = sum(len(content) for content in FILES.values())
    assert seen[-1] == (total, total, total - len(FILES["a.safetensors"]) - (1 << 20))
    assert [came for _, _, came in seen] == sorted(came for _, _, came in seen)


def test_what_lies_there_is_told_of_at_once_and_not_as_if_it_came(mirror: Mirror, tmp_path: Path) -> None:
    begun = {name: FILES[name][: len(FILES[name]) // 2] for name in ("a.safetensors", "b.safetensors")}
    (tmp_path / "models" / "folder").mkdir(parents=True)
    for name, content in begun.items():
        (tmp_path / "models" / "folder" / f"{name}.part").write_bytes(content)
    told: list[int] = []
    fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda done, *_: told.append(done))
    # Of each file by itself, the sum would jump as one after the other is looked at.
    assert told[0] >= sum(map(len, begun.values())) and told[-1] == sum(map(len, FILES.values()))


def test_one_file_that_fails_ends_the_others(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files["/owner/folder/resolve/abc/config.json"] = b"[]"
    with pytest.raises(DownloadError, match=r"config\.json: has SHA-256"):
        fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None)
    assert folder_entry(tmp_path).verified(tmp_path / "models") is None


def test_half_of_a_folder_is_no_model(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files.pop("/owner/folder/resolve/abc/b.safetensors")
    with pytest.raises(DownloadError, match="HTTP 404"):
        fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None)
    assert (tmp_path / "models" / "folder" / "a.safetensors").exists()
    assert LocalModels(tmp_path / "models").all() == []


def test_a_stop_ends_them_all(mirror: Mirror, tmp_path: Path) -> None:
    halt = Halt()
    halt.stop()
    with pytest.raises(StoppedError):
        fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None, halt)
    assert folder_entry(tmp_path).verified(tmp_path / "models") is None


def test_a_folder_that_lacks_a_file_is_not_there(mirror: Mirror, tmp_path: Path) -> None:
    entry = folder_entry(tmp_path)
    path = fetch_model(entry, settings(mirror, tmp_path), lambda *_: None)
    assert entry.verified(tmp_path / "models") == path
    (path / "config.json").unlink()
    assert entry.verified(tmp_path / "models") is None
    (path / "config.json").write_bytes(b"no")
    with pytest.raises(ModelFileError, match="is not the catalog's file"):
        entry.verified(tmp_path / "models")


# --- the disk


def test_a_full_disk_is_found_out_before(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 69_000_000})())
    with pytest.raises(
        DownloadError, match="has 69 MB free, and folder needs 3 MB more; 67 MB of the disk are left free"
    ):
        fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None)
    assert mirror.asked == []
    part = tmp_path / "models" / "folder" / "b.safetensors.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES["b.safetensors"][:-1])
    fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None)


def test_a_folder_that_cannot_be_made_is_told(mirror: Mirror, tmp_path: Path) -> None:
    entry = CatalogModel("full", (HubFile("one.gguf", 1, "0" * 64, "owner/one", "abc"),))
    (tmp_path / "models").write_bytes(b"a file where a folder should be")
    with pytest.raises(DownloadError) as caught:
        fetch_model(entry, settings(mirror, tmp_path), lambda *_: None)
    assert caught.value.message == f"one.gguf cannot be kept in {tmp_path}/models: File exists"


def test_a_refusal_is_answered_in_the_end(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = lambda handler: reply(handler, 401, b"")
    with pytest.raises(DownloadError, match=r"set download\.token"):
        fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None)


def test_what_breaks_a_parser_is_a_failed_download_and_no_crash(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflow(*_: object, **__: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr("ignis.fetching.HubClient.open", overflow)
    with pytest.raises(DownloadError, match="OverflowError: too large"):
        fetch_model(folder_entry(tmp_path), settings(mirror, tmp_path), lambda *_: None)


def test_no_control_character_of_a_mirror_reaches_a_terminal(
    mirror: Mirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def red(handler: Handler) -> None:
        handler.send_response(404, "\x1b[31mRED\x07")
        handler.end_headers()

    mirror.answer = red
    assert main(["model", "download", "one", *flags(mirror, tmp_path)]) == 1
    assert "HTTP 404 ?[31mRED?" in capsys.readouterr().err
