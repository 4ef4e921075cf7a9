"""What the bench command is told to measure, read from its words. The other options are the server's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ignis.commands import BY_WORDS
from ignis.config_values import join_words, nearest
from ignis.errors import ConfigError
from ignis.models.base import DType
from ignis.quant.registry import known_as

MAX_WIDTH = 8
MAX_TOKENS = 1 << 24
MAX_SEED = (1 << 32) - 1
MAX_ROUNDS = 100_000

FORMATS = {known_as(dtype): dtype for dtype in DType}

HELP = """\
ignis-server bench: how fast a model is on this device, by the engine that serves it, without HTTP

  ignis-server bench MODEL [options]                              a GGUF file or a model's folder
  ignis-server bench --synthetic CONFIG --format FORMAT [options] random weights of a config.json's shape

  --format FORMAT      of the synthetic matrices: {formats}
  --seed N             of the synthetic weights, 1 to {max_seed}; default 1
  --widths LIST        decode lanes at once, such as 1-8 or 1,8; default 1-8
  --contexts LIST      tokens of context that lanes decode at; default 1024
  --prompts LIST       tokens of the prompts whose first token is waited for; default 512,2048,8192,16384
  --rounds N           decode rounds measured at each width; default 64
  --repeats N          prompts of each length; default 3
  --temperature X      0 (default): the most likely token; else tokens are drawn
  --json               one JSON object instead of tables

Lengths that do not fit the model's context are left out where the list is the default, and refused where it is yours.
Every option of the server may follow: --device, --model-max-context, --model-kv-format, ... (help --fields)."""

_FLAGS = tuple(option.flag for option in BY_WORDS["bench"].options if option.value)
_SWITCH = "--json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    model: Path | None
    """None: the synthetic one."""
    config: Path | None
    """Of the synthetic model."""
    dtype: DType
    seed: int
    widths: tuple[int, ...]
    contexts: tuple[int, ...] | None
    """None: the default ones that fit."""
    prompts: tuple[int, ...] | None
    rounds: int
    repeats: int
    temperature: float
    is_json: bool


def help_text() -> str:
    return HELP.format(formats=join_words(list(FORMATS)), max_seed=MAX_SEED)


def read_options(words: Sequence[str], folder: Path) -> tuple[BenchOptions, list[str]]:
    """Takes the bench's own words; returns them read, and the words that are the server's.

    Raises:
        ConfigError: a value is missing or breaks its rule, or there is no model, or two.
    """
    given: dict[str, str] = {}
    places: list[str] = []
    others: list[str] = []
    is_json = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, has_value, value = word.partition("=")
        if flag == _SWITCH and not has_value:
            is_json = True
        elif flag in _FLAGS:
            if not has_value:
                if not rest or rest[0].startswith("--"):
                    raise ConfigError(f"{flag} needs a value; bench --help says which")
                value = rest.pop(0)
            given[flag] = value
        elif word.startswith("-"):
            others.append(word)
            # A flag of the server and its value, which is no model.
            if not has_value and rest and not rest[0].startswith("-"):
                others.append(rest.pop(0))
        else:
            places.append(word)
    return _options(given, places, folder, is_json=is_json), others


def _options(given: dict[str, str], places: list[str], folder: Path, *, is_json: bool) -> BenchOptions:
    config = given.get("--synthetic")
    if len(places) + (config is not None) != 1:
        raise ConfigError("bench takes one model: a GGUF file or a folder, or --synthetic CONFIG --format FORMAT")
    for flag in ("--format", "--seed"):
        if flag in given and config is None:
            raise ConfigError(f"{flag} is of synthetic weights; {places[0]} has its own")
    if config is not None and "--format" not in given:
        raise ConfigError(f"--synthetic needs --format: {join_words(list(FORMATS))}")
    return BenchOptions(
        model=folder / places[0] if places else None,
        config=None if config is None else folder / config,
        dtype=_format(given.get("--format", DType.F32.name)),
        seed=_integer(given, "--seed", 1, MAX_SEED, 1),
        widths=_list("--widths", given.get("--widths", f"1-{MAX_WIDTH}"), MAX_WIDTH, has_ranges=True),
        contexts=_list("--contexts", given["--contexts"], MAX_TOKENS) if "--contexts" in given else None,
        prompts=_list("--prompts", given["--prompts"], MAX_TOKENS) if "--prompts" in given else None,
        rounds=_integer(given, "--rounds", 1, MAX_ROUNDS, 64),
        repeats=_integer(given, "--repeats", 1, MAX_ROUNDS, 3),
        temperature=_number(given, "--temperature", 0.0, 2.0, 0.0),
        is_json=is_json,
    )


def _format(text: str) -> DType:
    name = text.upper()
    if name not in FORMATS:
        raise ConfigError(f"--format {text!r}: must be {join_words(list(FORMATS))}{nearest(name, FORMATS)}")
    return FORMATS[name]


def _integer(given: dict[str, str], flag: str, low: int, high: int, default: int) -> int:
    text = given.get(flag)
    if text is None:
        return default
    if not _is_number(text, low, high):
        raise ConfigError(f"{flag} {text!r}: must be {low} to {high}")
    return int(text)


def _is_number(text: str, low: int, high: int) -> bool:
    # Python refuses to read thousands of digits.
    return text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(high)) and low <= int(text) <= high


def _number(given: dict[str, str], flag: str, low: float, high: float, default: float) -> float:
    text = given.get(flag)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not low <= value <= high:
        raise ConfigError(f"{flag} {text!r}: must be {low:g} to {high:g}")
    return value


def _list(flag: str, text: str, high: int, *, has_ranges: bool = False) -> tuple[int, ...]:
    """Reads `1,2,8`, and `1-8` where that is allowed; in rising order, each once."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, is_range, last = part.partition("-")
        ends = [first, last] if is_range and has_ranges else [part]
        if not all(_is_number(end, 1, high) for end in ends) or int(ends[0]) > int(ends[-1]):
            numbers.clear()
            break
        numbers.update(range(int(ends[0]), int(ends[-1]) + 1))
    if not numbers:
        example = "1,2 or 1-4" if has_ranges else "512,2048"
        raise ConfigError(f"{flag} {text!r}: must be numbers from 1 to {high}, such as {example}")
    return tuple(sorted(numbers))
