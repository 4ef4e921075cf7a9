"""The files of a Hugging Face folder: which there are, and which may be opened.

A name out of an index is a plain file name, and where it is a symbolic link, it stays inside the folder or, in a
snapshot of Hugging Face's cache, among the blobs beside it.
"""

import contextlib
import os
from pathlib import Path

from ignis.models.base import HfTokenizerFiles, MappedFile, StoredTensor
from ignis.models.files import map_file, read_json, read_text, refusal, shown
from ignis.models.safetensors import parse_safetensors

CONFIG_BYTES = 1 << 20
INDEX_BYTES = 16 << 20
TOKENIZER_CONFIG_BYTES = 16 << 20
TEMPLATE_BYTES = 1 << 20
MAX_SHARDS = 1000

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZER_JSON = "tokenizer.json"
SENTENCEPIECE = "tokenizer.model"
TOKENIZER_CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
_CACHE_SNAPSHOTS = "snapshots"
_CACHE_BLOBS = "blobs"


class HfFolder:
    """One folder, listed once."""

    __slots__ = ("_names", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._names = frozenset(os.listdir(path))
        except (OSError, ValueError) as error:
            raise refusal(path, "cannot be listed") from error

    def has(self, name: str) -> bool:
        return name in self._names

    def names(self, ending: str) -> list[str]:
        return sorted(name for name in self._names if name.endswith(ending))

    def file(self, name: str) -> Path:
        """The path of a file that we know by name. Raises ModelFileError where it is not there."""
        if name not in self._names:
            raise refusal(self.path, f"{shown(name)} is missing")
        return self.path / name

    def indexed_file(self, name: str) -> Path:
        """The path of a file that a file of the folder names.

        Raises:
            ModelFileError: the name is not a plain one, nothing is there, or it is a link that leaves the folder.
        """
        if name in ("", ".", "..") or any(letter in name for letter in "/\\\0"):
            raise refusal(self.path, f"{shown(repr(name))} is not the name of a file in this folder")
        path = self.file(name)
        try:
            real, folder = path.resolve(strict=True), self.path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise refusal(self.path, f"{shown(name)} is a broken link") from error
        roots = [folder]
        if folder.parent.name == _CACHE_SNAPSHOTS:
            roots.append(folder.parent.parent / _CACHE_BLOBS)
        if not any(real.is_relative_to(root) for root in roots):
            raise refusal(self.path, f"{shown(name)} is a link that leaves the folder")
        return path

    def json(self, name: str, limit_bytes: int) -> dict[str, object]:
        """An object out of a JSON file; empty where the file is not there."""
        return read_json(self.file(name), limit_bytes) if self.has(name) else {}


def open_weights_files(
    folder: HfFolder, cleanup: contextlib.ExitStack
) -> tuple[tuple[MappedFile, ...], dict[str, StoredTensor]]:
    """Maps and parses the weights. `cleanup` gets the maps to close.

    Raises:
        ModelFileError: there are none, a shard is missing or malformed, or the index does not say what the shards hold.
    """
    weight_map: dict[str, str] = {}
    if folder.has(WEIGHTS):
        names = [WEIGHTS]
    elif folder.has(INDEX):
        weight_map = _weight_map(folder)
        names = sorted(set(weight_map.values()))
        if len(names) > MAX_SHARDS:
            raise refusal(folder.file(INDEX), f"names {len(names)} shards, at most {MAX_SHARDS} are opened")
    else:
        names = folder.names(".safetensors")
        if len(names) != 1:
            hint = "; PyTorch .bin files are not read" if folder.names(".bin") else ""
            raise refusal(folder.path, f"{WEIGHTS} and {INDEX} are missing{hint}")
    files: list[MappedFile] = []
    tensors: dict[str, StoredTensor] = {}
    for index, name in enumerate(names):
        file = map_file(folder.indexed_file(name) if weight_map else folder.file(name))
        cleanup.callback(file.close)
        files.append(file)
        for tensor in parse_safetensors(file, index).values():
            if tensor.name in tensors:
                other = names[tensors[tensor.name].file]
                raise refusal(file.path, f"tensor {shown(tensor.name)} is there, and in {shown(other)}")
            tensors[tensor.name] = tensor
    for tensor_name, name in weight_map.items():
        if tensor_name not in tensors or names[tensors[tensor_name].file] != name:
            raise refusal(
                folder.file(INDEX), f"says that tensor {shown(tensor_name)} is in {shown(name)}, which does not hold it"
            )
    return tuple(files), tensors


def tokenizer_files(folder: HfFolder, config: dict[str, object]) -> HfTokenizerFiles:
    """Locates the tokenizer; either of its files may be None."""
    return HfTokenizerFiles(
        tokenizer_json=folder.file(TOKENIZER_JSON) if folder.has(TOKENIZER_JSON) else None,
        sentencepiece_model=folder.file(SENTENCEPIECE) if folder.has(SENTENCEPIECE) else None,
        config=config,
    )


def chat_template(folder: HfFolder, config: dict[str, object]) -> str | None:
    """The template's source: chat_template.jinja, else tokenizer_config.json's, of which the one named default.

    Raises:
        ModelFileError: it is neither text nor a list of named texts.
    """
    if folder.has(TEMPLATE):
        return read_text(folder.file(TEMPLATE), TEMPLATE_BYTES)
    declared = config.get("chat_template")
    if declared is None or isinstance(declared, str):
        return declared
    fault = refusal(folder.file(TOKENIZER_CONFIG), "chat_template is neither text nor a list of names and templates")
    if not isinstance(declared, list):
        raise fault
    for entry in declared:
        if not isinstance(entry, dict) or not isinstance(entry.get("template"), str):
            raise fault
        if entry.get("name") == "default":
            return str(entry["template"])
    return None


def _weight_map(folder: HfFolder) -> dict[str, str]:
    path = folder.file(INDEX)
    declared = read_json(path, INDEX_BYTES).get("weight_map")
    if not isinstance(declared, dict) or not declared:
        raise refusal(path, "has no weight_map")
    weight_map: dict[str, str] = {}
    for name, file in declared.items():
        if not isinstance(file, str):
            raise refusal(path, f"puts tensor {shown(name)} into {shown(file)}, a file name is expected")
        weight_map[name] = file
    return weight_map
