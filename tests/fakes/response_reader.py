"""A strict client of response events: holds them to their order and puts the response together from the deltas alone.

reader = ResponseReader()
for event in events: reader.read(event)
assert reader.response == body
"""

from collections.abc import Iterable
from typing import Any

ENDS = {
    "response.completed": ("completed",),
    "response.incomplete": ("incomplete", "cancelled"),
    "response.failed": ("failed",),
}


class ResponseReader:
    """Reads the events of one response; each read asserts that the event may come now."""

    def __init__(self) -> None:
        self.response: dict[str, Any] = {}
        """The one that the last event holds, once it came; its output was put together from deltas."""
        self.created: dict[str, Any] = {}
        """The response of the first event."""
        self.names: list[str] = []
        self._output: list[dict[str, Any]] = []
        self._item: dict[str, Any] | None = None
        """The open one."""
        self._text = ""
        self._logprobs: list[Any] = []
        self._has_part = False
        self._is_told = False
        """Its text is done."""

    @property
    def has_ended(self) -> bool:
        return bool(self.response)

    def read(self, event: dict[str, Any]) -> None:
        assert not self.has_ended, f"{event['type']} after the end"
        assert event["sequence_number"] == len(self.names)
        name = event["type"]
        self.names.append(name)
        if len(self.names) == 1:
            assert name == "response.created"
            self.created = event["response"]
        elif name == "response.queued":
            assert self.names == ["response.created", "response.queued"]
            assert event["response"]["status"] == "queued"
        elif name == "response.in_progress":
            assert self.names[:-1] in (["response.created"], ["response.created", "response.queued"])
            assert event["response"]["status"] == "in_progress"
            assert event["response"]["output"] == []
        elif name in ENDS:
            assert self._item is None, f"{name} while an item is open"
            assert "response.in_progress" in self.names or event["response"]["status"] in ("cancelled", "failed")
            self._end(name, event["response"])
        else:
            assert "response.in_progress" in self.names
            self._read_item(name, event)

    def _end(self, name: str, response: dict[str, Any]) -> None:
        assert response["status"] in ENDS[name]
        assert (response["error"] is None) == (name != "response.failed")
        assert (response["incomplete_details"] is None) == (response["status"] != "incomplete")
        assert (response["completed_at"] is None) == (name != "response.completed")
        assert response["output"] == self._output
        self.response = response

    def _read_item(self, name: str, event: dict[str, Any]) -> None:
        assert event["output_index"] == len(self._output)
        if name == "response.output_item.added":
            assert self._item is None, "an item while another is open"
            self._item, self._text, self._logprobs = event["item"], "", []
            self._has_part = self._is_told = False
            assert self._item["status"] == "in_progress"
            return
        item = self._item
        assert item is not None, f"{name} outside an item"
        if name == "response.output_item.done":
            assert self._is_told, "an item is done before its text is"
            assert (item["type"] == "message") == self._has_part
            done = event["item"]
            assert (done["id"], done["type"]) == (item["id"], item["type"])
            assert done["status"] in ("completed", "incomplete")
            assert _text(done) == self._text
            self._output.append(done)
            self._item = None
            return
        assert event["item_id"] == item["id"]
        self._read_text(name, event, item["type"])

    def _read_text(self, name: str, event: dict[str, Any], kind: str) -> None:
        match kind, name.removeprefix("response."):
            case "message", "content_part.added":
                assert not self._has_part and event["part"]["text"] == ""
                self._has_part = True
            case "message", "output_text.delta":
                assert self._has_part and not self._is_told
                assert event["delta"] != ""
                self._text += event["delta"]
                self._logprobs += event["logprobs"]
            case "message", "output_text.done":
                assert self._has_part
                self._tell(event["text"])
                assert event["logprobs"] == self._logprobs
            case "message", "content_part.done":
                assert self._is_told
                assert event["part"]["text"] == self._text
                assert event["part"]["logprobs"] == self._logprobs
            case (
                ("reasoning", "reasoning_text.delta")
                | ("function_call", "function_call_arguments.delta")
                | ("custom_tool_call", "custom_tool_call_input.delta")
            ):
                assert not self._is_told
                self._text += event["delta"]
            case "reasoning", "reasoning_text.done":
                self._tell(event["text"])
            case "function_call", "function_call_arguments.done":
                self._tell(event["arguments"])
            case "custom_tool_call", "custom_tool_call_input.done":
                self._tell(event["input"])
            case _:
                raise AssertionError(f"{name} in a {kind}")

    def _tell(self, text: str) -> None:
        assert not self._is_told
        assert text == self._text
        self._is_told = True


def read_response(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Reads a whole stream and returns its response."""
    reader = ResponseReader()
    for event in events:
        reader.read(event)
    assert reader.has_ended
    return reader.response


def without_ids(response: dict[str, Any]) -> dict[str, Any]:
    """A response without what differs between two of the same request: ids and times."""
    output = [
        {key: value for key, value in item.items() if key not in ("id", "call_id")} for item in response["output"]
    ]
    gone = ("id", "created_at", "completed_at", "timings", "usage")
    return {**{key: value for key, value in response.items() if key not in gone}, "output": output}


def _text(item: dict[str, Any]) -> str:
    match item["type"]:
        case "message" | "reasoning":
            (part,) = item["content"]
            return str(part["text"])
        case "function_call":
            return str(item["arguments"])
        case _:
            return str(item["input"])
