"""Reads the command line and the environment into values by key. Knows no file."""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ignis.config_fields import ENVIRONMENT, Kind
from ignis.config_slots import SLOTS, Given, Origin, Slot, Source
from ignis.config_values import FALSE_WORDS, TRUE_WORDS, rule
from ignis.errors import ConfigError
from ignis.units import parse_address

# Options of llama-server, vLLM and SGLang, or as one guesses them by the groups here, and what they are called.
FOREIGN_FLAGS = {
    "--host": "--server-bind",
    "--port": "--server-bind",
    "-p": "--server-bind",
    "--server-host": "--server-bind",
    "--server-port": "--server-bind",
    "--ssl-cert-file": "--server-tls-cert",
    "--ssl-certfile": "--server-tls-cert",
    "--ssl-key-file": "--server-tls-key",
    "--ssl-keyfile": "--server-tls-key",
    "--allowed-origins": "--server-origins",
    "--uds": "--server-bind",
    "--api-key": "--server-api-key",
    "-m": "--model-artifact",
    "--model": "--model-artifact",
    "--model-path": "--model-artifact",
    "-hf": "--download-catalog",
    "--hf-repo": "--download-catalog",
    "-hft": "--download-token",
    "--hf-token": "--download-token",
    "-a": "--model-id",
    "--alias": "--model-id",
    "--served-model-name": "--switch-known-models",
    "--model-name": "--switch-known-models",
    "-c": "--model-max-context",
    "--ctx-size": "--model-max-context",
    "--max-model-len": "--model-max-context",
    "--context-length": "--model-max-context",
    "-n": "--model-default-max-tokens",
    "--n-predict": "--model-default-max-tokens",
    "-np": "--model-decode-lanes",
    "--parallel": "--model-decode-lanes",
    "--max-num-seqs": "--model-decode-lanes",
    "--max-running-requests": "--model-decode-lanes",
    "-t": "--cpu-threads",
    "-b": "--model-prefill-chunk",
    "--batch-size": "--model-prefill-chunk",
    "--chunked-prefill-size": "--model-prefill-chunk",
    "-ub": "--model-prefill-chunk",
    "--ubatch-size": "--model-prefill-chunk",
    "--max-num-batched-tokens": "--model-prefill-chunk",
    "-ctk": "--model-kv-format",
    "--cache-type-k": "--model-kv-format",
    "-ctv": "--model-kv-format",
    "--cache-type-v": "--model-kv-format",
    "--kv-cache-dtype": "--model-kv-format",
    "--sleep-idle-seconds": "--model-idle-unload",
    "--temp": "--sampling-temperature",
    "--repeat-penalty": "--sampling-repetition-penalty",
    "--reasoning-budget": "--model-thinking-budget",
    "--reasoning-parser": "--model-dialect",
    "--tool-call-parser": "--model-dialect",
    "--enable-prefix-caching": "--reuse-prompt",
    "--swap-space": "--reuse-kv-host-pool-bytes",
    "--webui": "--server-ui",
    "--disable-log-requests": "--log-level",
    "--log-file": "--log-format",
    "--download-dir": "--download-path",
    "--models-dir": "--download-path",
    "-to": "--server-request-timeout",
    "--timeout": "--server-request-timeout",
    "-v": "--log-level",
    "--verbose": "--log-level",
}

_ONE_CARD = "a server takes one card, and --device chooses between it and the processor"
_ITS_FILES = "a model is computed as its files have it; of the cache alone it is --model-kv-format"
_ALL_LAYERS = "all layers are on the card, or none with --device cpu"
_NO_SHARE = "the memory of the card is no share here, --vram-budget-bytes takes bytes, such as 20G"
_NO_CHOICE = "there is nothing to choose here, leave it out"
_NOT_SERVED = "that is not served"
FOREIGN_WORDS = {
    **dict.fromkeys(("--tensor-parallel-size", "-tp", "--tp", "--tp-size"), _ONE_CARD),
    **dict.fromkeys(("--pipeline-parallel-size", "-pp", "--pp-size", "--data-parallel-size", "-dp"), _ONE_CARD),
    **dict.fromkeys(("-sm", "--split-mode", "-ts", "--tensor-split", "-mg", "--main-gpu"), _ONE_CARD),
    **dict.fromkeys(("-ngl", "--n-gpu-layers", "--gpu-layers"), _ALL_LAYERS),
    **dict.fromkeys(("--gpu-memory-utilization", "--mem-fraction-static"), _NO_SHARE),
    **dict.fromkeys(("--dtype", "-q", "--quantization", "--load-format"), _ITS_FILES),
    **dict.fromkeys(("--enforce-eager", "-fa", "--flash-attn", "--attention-backend", "--jinja"), _NO_CHOICE),
    **dict.fromkeys(("--no-mmap", "--mlock", "-cb", "--cont-batching", "--enable-chunked-prefill"), _NO_CHOICE),
    **dict.fromkeys(("--enable-auto-tool-choice", "--trust-remote-code"), _NO_CHOICE),
    **dict.fromkeys(("--embedding", "--embeddings", "--reranking", "--mmproj"), _NOT_SERVED),
    **dict.fromkeys(("--lora", "--lora-modules", "--enable-lora"), _NOT_SERVED),
    **dict.fromkeys(("-s", "--seed"), "each request has its own, as seed"),
    **dict.fromkeys(("--chat-template", "--chat-template-file"), "a model's own is used"),
    "--no-webui": "that is --server-ui false",
    "--revision": "the catalog pins it, and --download-catalog names one",
}
"""Likewise, where no option of ours is that one."""

_ADDRESS_PARTS = {"--host": "host", "--server-host": "host", "--port": "port", "--server-port": "port", "-p": "port"}
_SECOND_NAMES = ("--served-model-name", "--model-name")

_OWN = ("--config", "--profile")


class UnexpectedArgumentError(ConfigError):
    """A word that is no option."""

    def __init__(self, argument: str) -> None:
        super().__init__(
            f"unexpected argument {argument!r}; options start with --, and a model is named by --model-artifact"
        )
        self.argument = argument


@dataclass(frozen=True, slots=True)
class Flags:
    """A command line's options."""

    values: Mapping[str, Given]
    file: str | None
    """Of --config."""
    profile: str | None


def read_flags(arguments: Sequence[str], folder: Path) -> Flags:
    """Reads `--flag value`, `--flag=value` and bare switches; of a flag given twice the last one counts.

    Raises:
        ConfigError: one is unknown, or lacks its value.
    """
    known = {slot.flag: slot for slot in SLOTS.values()}
    given: dict[str, Given] = {}
    own: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        flag, has_value, value = argument.partition("=")
        slot = known.get(flag)
        if slot is None and flag not in _OWN:
            if not flag.startswith("-"):
                raise UnexpectedArgumentError(argument)
            meant = _meant_address(flag, arguments) or _meant_name(flag, arguments) or _meant(flag, [*known, *_OWN])
            raise ConfigError(f"unknown option {flag}{meant}")
        if not has_value:
            is_switch = slot is not None and slot.field.kind is Kind.BOOL
            if is_switch and not (rest and rest[0].lower() in TRUE_WORDS | FALSE_WORDS):
                value = "true"
            elif not rest or rest[0].startswith("--"):
                allowed = rule(slot.field) if slot is not None else {"--config": "path"}.get(flag, "name")
                raise ConfigError(f"{flag} needs a value: {allowed}")
            else:
                value = rest.pop(0)
        if slot is None:
            own[flag] = value
        else:
            if slot.field.kind is Kind.PATHS and slot.key in given:
                value = f"{given[slot.key].text};{value}"
            given[slot.key] = Given(value, Origin(Source.FLAG, flag), folder)
    return Flags(given, own.get("--config"), own.get("--profile"))


def read_environment(environ: Mapping[str, str], folder: Path) -> dict[str, Given]:
    """Reads the variables with our prefix; an empty one is not there.

    Raises:
        ConfigError: one is unknown.
    """
    known = {slot.env: slot for slot in SLOTS.values()}
    given = {}
    for name, value in environ.items():
        if name.startswith("IGNIS_") and name not in ENVIRONMENT and value:
            slot = known.get(name)
            if slot is None:
                raise ConfigError(f"unknown environment variable {name}{_meant_variable(name, known)}")
            given[slot.key] = Given(value, Origin(Source.ENVIRONMENT, name), folder)
    return given


def _meant_address(flag: str, arguments: Sequence[str]) -> str:
    """As `_meant`, for the two flags of other servers that make one address here, which is then spelled out; nothing
    where it would be refused."""
    if flag not in _ADDRESS_PARTS:
        return ""
    address = {"host": "127.0.0.1", "port": "8000"}
    for name, part in _ADDRESS_PARTS.items():
        address[part] = _value_of(name, arguments) or address[part]
    host = f"[{address['host']}]" if ":" in address["host"] else address["host"]
    whole = f"{host}:{address['port']}"
    try:
        parse_address(whole)
    except ValueError:
        return ""
    return f"; did you mean --server-bind {whole}?"


def _meant_name(flag: str, arguments: Sequence[str]) -> str:
    """As `_meant`, for a further name of a model: what it takes here is more than that name."""
    if flag not in _SECOND_NAMES:
        return ""
    paths = (_value_of(option, arguments) for option, ours in FOREIGN_FLAGS.items() if ours == "--model-artifact")
    path = _value_of("--model-artifact", arguments) or next(filter(None, paths), None) or "path"
    named = shlex.quote(f"{_value_of(flag, arguments) or 'name'}={path}")
    return f"; did you mean --switch-known-models {named}?"


def _value_of(flag: str, arguments: Sequence[str]) -> str | None:
    """What a command line gives an option that is not ours; None where it has none."""
    value = None
    for position, argument in enumerate(arguments):
        name, equals, after = argument.partition("=")
        if name == flag:
            value = after if equals else next(iter(arguments[position + 1 : position + 2]), value)
    return value


def _meant_variable(name: str, known: Mapping[str, Slot]) -> str:
    """As `_meant`, for a variable: `IGNIS_PORT` is meant as `--port` is."""
    bare = name.removeprefix("IGNIS_")
    flag = FOREIGN_FLAGS.get("--" + bare.lower().replace("_", "-"))
    whole = next((env for env, slot in known.items() if slot.flag == flag), None)
    if whole is None:
        # Without the prefix, which every variable has in common.
        names = [env.removeprefix("IGNIS_") for env in [*known, *ENVIRONMENT]]
        close = difflib.get_close_matches(bare, names, n=1, cutoff=0.6)
        whole = f"IGNIS_{close[0]}" if close else None
    return f"; did you mean {whole}?" if whole is not None else "; help --fields lists them all"


def _meant(flag: str, known: Sequence[str]) -> str:
    """As `nearest`, for a flag: one of another server, one that lacks its group, or a slip; else where they all are."""
    if flag in FOREIGN_WORDS:
        return f"; {FOREIGN_WORDS[flag]}"
    bare = flag.lstrip("-")
    whole = FOREIGN_FLAGS.get(flag) or next((name for name in known if name.endswith(f"-{bare}")), None)
    if whole is None:
        # Without the dashes, which every flag has in common.
        close = difflib.get_close_matches(bare, [name.removeprefix("--") for name in known], n=1, cutoff=0.6)
        whole = f"--{close[0]}" if close else None
    return f"; did you mean {whole}?" if whole is not None else "; help --fields lists them all"
