"""The tokenizer that everyone calls. It owns the line between text and control tokens and refuses to cross it.

Each kind of vocabulary brings an Encoder, which turns plain text into ids; everything else is the same for all of them.

Which token is what, by the type that the file gives it:

    control (GGUF 3; tokenizer.json "special")     never comes out of text; written only by a template, as ControlText
    unknown, unused, byte (GGUF 2, 5, 6)           never matched by their spelling
    user defined (GGUF 4; an added token that      matched in text before anything else, the longest one first, as the
    is not special: <think>, runs of spaces)       model was trained
    bos, eos and the stop ids spelled <...>, [...] control, whatever the file says: some files get their type wrong
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ignis.models.base import SpecialTokens
from ignis.tokenizer.spelling import Spelling

# Ordinary text has 3 to 5 characters a token; only a text with more than this a token is counted twice.
_SURE_CHARACTERS = 8
_SLICE_CHARACTERS = 1 << 16
_SLICE_MARGIN = 64


@dataclass(frozen=True, slots=True)
class ControlText:
    """A control token in a prompt, by its spelling."""

    token_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ControlToken:
    """A control token and whether it swallows the white space beside it (Hugging Face's lstrip and rstrip)."""

    token_id: int
    strips_left: bool = False
    strips_right: bool = False


class Encoder(Protocol):
    """Plain text to ids, as the reference tokenizer does it with special tokens switched off. Thread-safe."""

    def encode(self, text: str, is_first: bool) -> list[int]:
        """`text` is not empty and holds no lone surrogates; `is_first`: no token stands before it."""
        ...


class Tokenizer:
    """Immutable and thread-safe. Decoding never fails: an id without text gives none."""

    def __init__(
        self,
        encoder: Encoder,
        spelling: Spelling,
        controls: Mapping[str, ControlToken],
        vocab_size: int,
        special: SpecialTokens,
        adds_bos: bool,
    ) -> None:
        self.vocab_size = vocab_size
        self.bos = special.bos
        self.eos = special.eos
        self.adds_bos = adds_bos and special.bos is not None
        """A prompt starts with BOS, whether or not the template writes it."""
        self._encoder = encoder
        self._spelling = spelling
        self._controls = dict(controls)
        self._control_texts = {control.token_id: text for text, control in controls.items()}
        # What a vocabulary cannot spell becomes the unknown token, so that one may come out of text.
        self._never_from_text = self._control_texts.keys() - {special.unk}
        # The longest spelling first makes the alternation leftmost-longest, as the reference's trie is.
        longest_first = sorted(controls, key=len, reverse=True)
        self._control_pattern = re.compile("|".join(map(re.escape, longest_first))) if controls else None

    @property
    def control_spellings(self) -> tuple[str, ...]:
        return tuple(self._controls)

    def find_token(self, spelling: str) -> int | None:
        """Finds the control or user-defined token of that spelling; None where it is text like any other."""
        control = self._controls.get(spelling)
        if control is not None:
            return control.token_id
        ids = self._encoder.encode(spelling, False)
        return ids[0] if len(ids) == 1 and self.token_text(ids[0]) == spelling else None

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        """Encodes text without BOS. Unless `allow_special`, the spelling of a control token is text like any other.

        A lone surrogate, which has no UTF-8, becomes U+FFFD.
        """
        if allow_special:
            return self.encode_prompt(self.split_controls(text))
        return self._encode_run(text, is_first=True)

    def split_controls(self, text: str) -> list[str | ControlText]:
        """Cuts text at every spelling of a control token: for text whose author may write them."""
        if self._control_pattern is None:
            return [text] if text else []
        pieces: list[str | ControlText] = []
        start = 0
        for match in self._control_pattern.finditer(text):
            if match.start() > start:
                pieces.append(text[start : match.start()])
            pieces.append(ControlText(self._controls[match[0]].token_id, match[0]))
            start = match.end()
        if start < len(text):
            pieces.append(text[start:])
        return pieces

    def has_more_tokens(self, text: str, limit: int) -> bool:
        """Whether text is sure to have more than `limit` tokens, for the price of encoding about so many.

        A text whose length leaves that open is encoded in slices until the count is past the limit. A cut splits a word
        or two, so the count is off by a few tokens a slice, which the margin covers.
        """
        if len(text) <= _SURE_CHARACTERS * limit:
            return False
        count = margin = 0
        for start in range(0, len(text), _SLICE_CHARACTERS):
            count += len(self._encode_run(text[start : start + _SLICE_CHARACTERS], is_first=start == 0))
            margin += _SLICE_MARGIN
            if count > limit + margin:
                return True
        return False

    def encode_prompt(self, pieces: Sequence[str | ControlText]) -> list[int]:
        """Encodes what a template wrote: ControlText becomes its token, a str is plain text. Adds no BOS.

        Strings that stand side by side are encoded as one run, so that cuts leave no trace in the ids.
        """
        ids: list[int] = []
        run: list[str] = []
        strips_left = False
        for piece in pieces:
            if isinstance(piece, str):
                run.append(piece)
                continue
            control = self._controls[piece.text]
            text = "".join(run)
            text = text.lstrip() if strips_left else text
            text = text.rstrip() if control.strips_left else text
            ids += self._encode_run(text, is_first=not ids)
            ids.append(control.token_id)
            run.clear()
            strips_left = control.strips_right
        text = "".join(run)
        ids += self._encode_run(text.lstrip() if strips_left else text, is_first=not ids)
        return ids

    def _encode_run(self, text: str, is_first: bool) -> list[int]:
        if not text:
            return []
        ids = self._encoder.encode(without_surrogates(text), is_first)
        if self._never_from_text.isdisjoint(ids):
            return ids
        # A vocabulary can reach a control token by its merges. Cutting inside the spelling stops that.
        spelling = next(self._control_texts[token] for token in ids if token in self._never_from_text)
        cut = text.find(spelling) + 1
        if cut == 0 or len(spelling) == 1:
            return [token for token in ids if token not in self._never_from_text]
        return self._encode_run(text[:cut], is_first) + self._encode_run(text[cut:], is_first=False)

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """Decodes ids; bytes that are no UTF-8 become U+FFFD. Control tokens are spelled out unless `skip_special`."""
        parts: list[bytes] = []
        is_first = self._spelling.leads_with_space
        for token_id in ids:
            control = self._control_texts.get(token_id)
            if control is not None:
                if not skip_special:
                    parts.append(control.encode())
                continue
            data = self._spelling.token_bytes(token_id)
            parts.append(data[1:] if is_first and data.startswith(b" ") else data)
            is_first = is_first and not data
        return b"".join(parts).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token adds to the text: none for a control token or an id without text."""
        return b"" if token_id in self._control_texts else self._spelling.token_bytes(token_id)

    def control_bytes(self, spellings: Sequence[str]) -> dict[int, bytes]:
        """The control tokens among these spellings, and the bytes of each."""
        return {self._controls[text].token_id: text.encode() for text in spellings if text in self._controls}

    def token_text(self, token_id: int) -> str:
        """A token for people (log probabilities): control tokens spelled out, bytes that are no UTF-8 as U+FFFD."""
        control = self._control_texts.get(token_id)
        return self._spelling.token_bytes(token_id).decode("utf-8", "replace") if control is None else control

    @property
    def leads_with_space(self) -> bool:
        """Encoding puts a space before the text, and decoding takes it away again."""
        return self._spelling.leads_with_space


def without_surrogates(text: str) -> str:
    """Text that has a UTF-8: what JSON can spell and UTF-8 cannot becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two halves that stand side by side are one character, as JSON spells it.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
