"""Which models are here, and by which names: no file is opened for it."""

import os
from pathlib import Path
from typing import Any

import pytest

from ignis.errors import ModelNotFoundError
from ignis.models.local import Claim, LocalModel, LocalModels, measured


def touch(path: Path, size_bytes: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size_bytes))
    return path


def hf_folder(path: Path) -> Path:
    touch(path / "config.json")
    touch(path / "model-00001-of-00002.safetensors", 10)
    touch(path / "model-00002-of-00002.safetensors", 20)
    return path


def names(models: LocalModels) -> list[str]:
    return [model.name for model in models.all()]


def test_files_and_folders_are_known_by_their_names(tmp_path: Path) -> None:
    touch(tmp_path / "one.Q4_K.gguf", 5)
    hf_folder(tmp_path / "owner" / "two")
    touch(tmp_path / "owner" / "repo" / "three.gguf")
    touch(tmp_path / "notes.txt")
    hf_folder(tmp_path / ".hidden")
    touch(tmp_path / "a" / "b" / "c" / "four.gguf")
    touch(tmp_path / "mmproj-one.gguf")
    models = LocalModels(tmp_path)
    assert names(models) == ["one.Q4_K", "two", "three", "four"]
    assert [(model.format, model.size_bytes()) for model in models.all()] == [
        ("GGUF", 5),
        ("safetensors", 30),
        ("GGUF", 1),
        ("GGUF", 1),
    ]


def test_what_lies_too_deep_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    touch(tmp_path / "models" / "a" / "b" / "c" / "d" / "too_deep.gguf")
    models = LocalModels(tmp_path / "models", on_unreadable=lambda folder, error: told.append(str(error.strerror)))
    assert (names(models), models.unreadable) == ([], ("models/a/b/c/d",))
    assert told == ["it lies more than 3 folders deep"]


def test_many_files_hide_no_model_and_what_comes_after_them_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ignis.models.local._MAX_ENTRIES", 20)
    told: list[str] = []
    for number in range(25):
        touch(tmp_path / "models" / f"note{number}.txt")
    touch(tmp_path / "models" / "here.gguf")
    touch(tmp_path / "models" / "sub" / "left_out.gguf")
    whole = hf_folder(tmp_path / "models" / "whole")
    models = LocalModels(tmp_path / "models", on_unreadable=lambda folder, error: told.append(str(error.strerror)))
    assert (names(models), models.unreadable) == (["here", "whole"], ("models/sub",))
    assert told == ["20 files and folders come before it; it and all after it are left out"]
    assert models.find("whole").path == whole


def test_of_models_of_one_name_each_can_be_called(tmp_path: Path) -> None:
    file = touch(tmp_path / "foo.gguf")
    folder = hf_folder(tmp_path / "foo")
    deeper = hf_folder(tmp_path / "sub" / "foo")
    split = touch(tmp_path / "sub" / "foo-00001-of-00002.gguf")
    models = LocalModels(tmp_path)
    listed = {"foo": file, "foo/": folder, "sub/foo/": deeper, "sub/foo-00001-of-00002.gguf": split}
    assert {model.name: model.path for model in models.all()} == listed
    assert {name: models.find(name).path for name in listed} == listed
    assert {models.find(name).name for name in ("foo", "foo.gguf")} == {"foo"}
    assert models.find("sub/foo").name == "sub/foo/"
    assert models.find("foo-00001-of-00002.gguf").name == "sub/foo-00001-of-00002.gguf"


def test_a_name_that_the_operator_gives_hides_no_file_of_that_name(tmp_path: Path) -> None:
    other, file = touch(tmp_path / "far" / "x.gguf"), touch(tmp_path / "models" / "small.gguf")
    models = LocalModels(tmp_path / "models", [LocalModel("small", other)])
    assert {model.name: model.path for model in models.all()} == {"small": other, "small.gguf": file}
    assert models.find("small.gguf") == LocalModel("small.gguf", file)


def test_a_list_reads_each_folder_for_a_few_times_however_many_models_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        touch(tmp_path / f"m{number:02}.gguf", number)
    scan, num_scans = os.scandir, 0

    def count(folder: Path) -> Any:
        nonlocal num_scans
        num_scans += 1
        return scan(folder)

    monkeypatch.setattr(os, "scandir", count)
    there = LocalModels(tmp_path).there()
    monkeypatch.setattr(os, "scandir", None)
    # What was measured is not looked for again, by an event loop for one.
    assert [model.size_bytes() for model in there] == list(range(50))
    assert num_scans == 2


def test_a_split_file_is_one_model_of_all_its_parts(tmp_path: Path) -> None:
    for part in (1, 2, 3):
        touch(tmp_path / f"big-{part:05}-of-00003.gguf", part)
    touch(tmp_path / "mmproj-big.gguf")
    models = LocalModels(tmp_path)
    assert names(models) == ["big"]
    assert models.find("big").path.name == "big-00001-of-00003.gguf"
    assert models.find("big").size_bytes() == 6


def test_a_folder_is_as_large_as_what_is_loaded_of_it(tmp_path: Path) -> None:
    for name in ("config.json", "a.safetensors", "b.safetensors", "a.gguf"):
        touch(tmp_path / "mixed" / name, 5)
    touch(tmp_path / "plain" / "a.gguf", 7)
    # The authors' own form beside the shards of the index, and shards beside the whole.
    sharded = hf_folder(tmp_path / "sharded")
    touch(sharded / "model.safetensors.index.json", 3)
    touch(sharded / "consolidated.safetensors", 30)
    touch(hf_folder(tmp_path / "whole") / "model.safetensors", 29)
    touch(tmp_path / "oddly" / "weights.safetensors", 11)
    touch(tmp_path / "oddly" / "model.safetensors.index.json", 3)
    sizes = {"mixed": 10, "plain": 7, "sharded": 30, "whole": 29, "oddly": 11}
    found = {name: LocalModel(name, tmp_path / name) for name in sizes}
    assert {name: model.size_bytes() for name, model in found.items()} == sizes
    assert {model.name: model.size_bytes() for model in measured(found.values())} == sizes


def test_whole_and_split_files_of_one_stem_are_models_apart(tmp_path: Path) -> None:
    for name, size_bytes in (("m", 5), ("m-00001-of-00002", 50), ("m-00002-of-00002", 150), ("m-00001-of-00001", 9)):
        touch(tmp_path / f"{name}.gguf", size_bytes)
    models = LocalModels(tmp_path)
    sizes = {"m": 9, "m-00001-of-00002.gguf": 200, "m.gguf": 5}
    assert {model.name: model.size_bytes() for model in models.all()} == sizes
    assert {model.name: model.size_bytes() for model in models.there()} == sizes


def test_the_format_of_a_folder_is_that_of_what_is_loaded_of_it(tmp_path: Path) -> None:
    for place in ("gguf/a.gguf", "both/a.gguf", "both/model.safetensors"):
        touch(tmp_path / place)
    models = [LocalModel(name, tmp_path / name) for name in ("gguf", "both", "gone")]
    assert [model.format for model in models] == ["GGUF", "safetensors", "safetensors"]
    assert [model.format for model in measured(models)] == ["GGUF", "safetensors", "safetensors"]


def test_of_one_name_a_file_comes_before_a_folder_and_each_has_its_own_too(tmp_path: Path) -> None:
    file, folder = touch(tmp_path / "same.gguf"), hf_folder(tmp_path / "same")
    deeper = touch(tmp_path / "x" / "same.gguf")
    models = LocalModels(tmp_path, [LocalModel("other", folder), LocalModel("deeper", deeper)])
    assert models.find("same").path == file
    assert models.find("same.gguf").path == file
    assert models.find("other").path == folder
    assert names(models) == ["other", "deeper", "same"]


def test_of_several_names_of_one_model_clients_read_the_first(tmp_path: Path) -> None:
    file = touch(tmp_path / "file.gguf")
    models = LocalModels(tmp_path, [LocalModel("alias", file)], lambda: [LocalModel("catalogued", file)])
    models.start_with(LocalModel("started", file, {"temperature": 0.5}))
    assert names(models) == ["started"]
    for name in ("started", "alias", "catalogued", "file", "file.gguf"):
        assert models.find(name).name == "started"
    assert models.find("alias").sampling == {"temperature": 0.5}
    with pytest.raises(ModelNotFoundError, match="x is not known here; started is"):
        models.find("x")


def test_a_name_that_means_another_model_is_no_files_own(tmp_path: Path) -> None:
    file, folder = touch(tmp_path / "sub" / "one.gguf"), hf_folder(tmp_path / "two")
    claims = [
        Claim("one", tmp_path / "one.gguf"),
        Claim("two", folder, "config.json is another"),
        Claim("none", folder),
    ]
    models = LocalModels(tmp_path, (), lambda: claims)
    listed = {"two/": folder, "sub/one.gguf": file}
    assert {model.name: model.path for model in models.all()} == listed
    assert {name: models.find(name).path for name in (*listed, "one.gguf")} == listed | {"one.gguf": file}
    for name, why in {
        "one": "the model one is the catalog's, and not here; sub/one.gguf can be named",
        "two": "the model two is not here as the catalog has it: config.json is another; two/ can be named",
        "none": "the model none is not known here; two/, sub/one.gguf are",
    }.items():
        with pytest.raises(ModelNotFoundError) as refused:
            models.find(name)
        assert refused.value.message == why
    # Whoever started the server on it, or gave it the name, means it.
    models.named = [LocalModel("one", file)]
    models.start_with(LocalModel("two", folder))
    assert names(models) == ["two", "one"]
    assert [models.find(name).path for name in ("one", "two")] == [file, folder]


def test_what_has_begun_to_be_another_model_is_none(tmp_path: Path) -> None:
    folder = hf_folder(tmp_path / "two")
    models = LocalModels(tmp_path, (), lambda: [Claim("two", folder, "it lacks c.safetensors", is_begun=True)])
    assert names(models) == []
    with pytest.raises(ModelNotFoundError, match=r"two is not here as the catalog has it: it lacks c\.safetensors$"):
        models.find("two")
    with pytest.raises(ModelNotFoundError, match="two/ is not known here; none is"):
        models.find("two/")


def test_what_comes_later_is_found_and_what_is_gone_is_not(tmp_path: Path) -> None:
    models = LocalModels(tmp_path / "models", [LocalModel("named", tmp_path / "nowhere.gguf")])
    assert names(models) == ["named"]
    with pytest.raises(ModelNotFoundError, match=r"named is known here, but nowhere\.gguf is gone"):
        models.find("named")
    touch(tmp_path / "models" / "late.gguf")
    assert models.find("late").name == "late"
    (tmp_path / "models" / "late.gguf").unlink()
    with pytest.raises(ModelNotFoundError, match="late is not known here; none is"):
        models.find("late")


def test_whoever_asks_for_what_is_not_here_is_told_what_is(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="x is not known here; none is"):
        LocalModels(tmp_path).find("x")
    for number in range(9):
        touch(tmp_path / f"m{number}.gguf")
    with pytest.raises(ModelNotFoundError, match="m0, m1, m2, m3, m4 and 4 more are"):
        LocalModels(tmp_path).find("../../etc/passwd")


@pytest.mark.parametrize(
    ("files", "lack"),
    [(["config.json"], r"no \.safetensors file"), (["model.safetensors", "tokenizer.json"], r"no config\.json")],
)
def test_a_folder_that_lacks_a_file_is_told(tmp_path: Path, files: list[str], lack: str) -> None:
    for file in files:
        touch(tmp_path / "owner" / "half" / file)
    touch(tmp_path / "notes" / "readme.txt")
    models = LocalModels(tmp_path)
    with pytest.raises(ModelNotFoundError, match=f"half is not whole: its folder has {lack}"):
        models.find("half")
    with pytest.raises(ModelNotFoundError, match="notes is not known here"):
        models.find("notes")


def test_a_folder_of_several_models_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    for file in ("a.gguf", "owner/many/Q4.gguf", "owner/many/Q8.gguf", "owner/many/mmproj-Q8.gguf"):
        touch(tmp_path / file)
    with pytest.raises(ModelNotFoundError, match=r"the model many is not known here; of that folder Q4, Q8 are$"):
        LocalModels(tmp_path).find("many")


def test_a_split_file_without_its_first_part_is_told(tmp_path: Path) -> None:
    for file in ("owner/z-00002-of-00003.gguf", "owner/z-00003-of-00003.gguf", "y-00001-of-00002.gguf", "m.gguf"):
        touch(tmp_path / file)
    touch(tmp_path / "y-00002-of-00002.gguf")
    models = LocalModels(tmp_path)
    for name in ("z", "owner", "z-00003-of-00003.gguf"):
        with pytest.raises(ModelNotFoundError, match=rf"{name} is not whole: z-00001-of-00003\.gguf is missing$"):
            models.find(name)
    with pytest.raises(ModelNotFoundError, match=r"y-00002-of-00002\.gguf is not known here; m, y are$"):
        models.find("y-00002-of-00002.gguf")


def test_a_file_whose_ending_is_in_capitals_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    for file in ("m.gguf", "owner/X.GGUF", "owner/mmproj-X.GGUF"):
        touch(tmp_path / "models" / file)
    models = LocalModels(tmp_path / "models", on_unreadable=lambda _path, error: told.append(str(error.strerror)))
    assert (names(models), models.unreadable) == (["m"], ("models/owner/X.GGUF",))
    assert told == ["its name has to end in .gguf"]
    for name in ("X", "X.GGUF", "owner"):
        with pytest.raises(ModelNotFoundError, match=rf"{name} is not known here: X\.GGUF has to end in \.gguf$"):
            models.find(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("QWEN3-4b-q4_k", "; did you mean Qwen3-4B-Q4_K?"),
        ("Qwen3-4B-Q4K", "; did you mean Qwen3-4B-Q4_K?"),
        ("SMALL", "; did you mean small?"),
        ("smal", "; did you mean small?"),
        ("gpt-4", ""),
        ("x" * 100_000, ""),
    ],
)
def test_a_name_that_is_nearly_one_is_asked_about(tmp_path: Path, name: str, meant: str) -> None:
    for file in ("Qwen3-4B-Q4_K.gguf", "small.gguf"):
        touch(tmp_path / file)
    with pytest.raises(ModelNotFoundError) as refused:
        LocalModels(tmp_path).find(name)
    assert refused.value.message.endswith(f" is not known here; Qwen3-4B-Q4_K, small are{meant}")


def test_a_link_that_leads_round_is_not_followed_for_ever(tmp_path: Path) -> None:
    touch(tmp_path / "m.gguf")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "broken.gguf").symlink_to(tmp_path / "nowhere")
    models = LocalModels(tmp_path)
    assert (names(models), models.unreadable) == (["m"], ())


def test_a_folder_that_cannot_be_read_is_named_once_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "models" / "here.gguf")
    hf_folder(tmp_path / "models" / "locked")
    scan, told = os.scandir, []
    has_right = False

    def scan_with_rights(folder: Path) -> Any:
        # root, as whom tests may run, has every right.
        if folder.name == "locked" and not has_right:
            raise PermissionError(13, "Permission denied", str(folder))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scan_with_rights)
    models = LocalModels(tmp_path / "models", on_unreadable=lambda folder, error: told.append((folder, error.errno)))
    for _ in range(2):
        assert (names(models), models.unreadable) == (["here"], ("models/locked",))
        assert told == [(tmp_path / "models" / "locked", 13)]
    has_right = True
    assert (names(models), models.unreadable) == (["here", "locked"], ())


def test_a_name_that_is_no_text_is_told_and_hides_no_other(tmp_path: Path) -> None:
    told: list[str] = []
    touch(tmp_path / "models" / "here.gguf")
    touch(Path(os.fsdecode(os.fsencode(tmp_path / "models") + b"/caf\xe9.gguf")))
    models = LocalModels(tmp_path / "models", on_unreadable=lambda _path, error: told.append(str(error.strerror)))
    for _ in range(2):
        assert (names(models), models.unreadable) == (["here"], ("models/caf\\udce9.gguf",))
    assert told == ["its name is not UTF-8"]


@pytest.mark.parametrize("path", ["gone.gguf", "x" * 300, "x/" * 3000])
def test_a_known_model_whose_file_is_gone_or_never_can_be_is_said_to_be_gone(tmp_path: Path, path: str) -> None:
    models = LocalModels(tmp_path, [LocalModel("mine", tmp_path / path)])
    with pytest.raises(ModelNotFoundError, match=r"mine is known here, but .* is gone"):
        models.find("mine")
    assert (names(models), models.there()) == (["mine"], [])


def test_a_name_that_nobody_knows_costs_two_looks_at_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / "models" / "here.gguf")
    scan, seen = os.scandir, []

    def counted(folder: Path) -> Any:
        seen.append(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", counted)
    with pytest.raises(ModelNotFoundError, match="there is not known here; here is"):
        LocalModels(tmp_path / "models").find("there")
    assert len(seen) <= 2
