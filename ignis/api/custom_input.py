"""The text of a custom tool out of the JSON that its call is to the model, as the JSON comes."""

import json
import re

from ignis.api.response_tools import CUSTOM_INPUT

_HEAD = re.compile(rf'\s*\{{\s*"{CUSTOM_INPUT}"\s*:\s*"')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|u[0-9a-fA-F]{4}|[^u])")
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


class CustomInput:
    """Arguments of the form {"input": "..."}. Any other form is passed on as it is, once it is whole."""

    def __init__(self) -> None:
        self.arguments = ""
        """All that came."""
        self._num_read = 0
        """Characters of the arguments that were decoded; 0 before the text has begun."""
        self._has_ended = False
        self._text = ""

    def push(self, text: str) -> str:
        """Takes more of the JSON; returns what it adds to the text."""
        self.arguments += text
        if not self._num_read and not self._has_ended:
            head = _HEAD.match(self.arguments)
            if head is None:
                return ""
            self._num_read = head.end()
        more = "" if self._has_ended else self._decode()
        self._text += more
        return more

    def finish(self) -> tuple[str, str]:
        """Returns the rest of the text, and all of it."""
        try:
            value = json.loads(self.arguments)
        except (ValueError, RecursionError):
            value = None
        whole = value.get(CUSTOM_INPUT) if isinstance(value, dict) else None
        text = whole if isinstance(whole, str) else self._text or self.arguments
        # What was passed on stays, whatever a key that comes twice says of it later.
        text = text if text.startswith(self._text) else self._text
        return text[len(self._text) :], text

    def _decode(self) -> str:
        """Decodes up to the end of the string, or to an escape that is not whole yet."""
        pieces, place, end = [], self._num_read, len(self.arguments)
        while place < end:
            character = self.arguments[place]
            if character == '"':
                self._has_ended = True
                break
            if character != "\\":
                pieces.append(character)
                place += 1
                continue
            escape = _ESCAPE.match(self.arguments, place)
            if escape is None:
                # Half a pair may still find its other half; a \u that never comes whole is left to the end.
                break
            if _HALF.match(escape[0]) and end - escape.end() < len(r"\uDC00"):
                break
            try:
                pieces.append(json.loads(f'"{escape[0]}"'))
            except ValueError:
                break
            place = escape.end()
        self._num_read = place
        return "".join(pieces)
