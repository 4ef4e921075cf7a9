"""POST /v1/chat/completions over the scripted engine: whole bodies, streams, and what both share."""

from tests.fakes.engine import script
from tests.unit.api.bench import Bench, text_of


async def test_a_whole_answer_has_text_reason_and_usage() -> None:
    bench = Bench(script("Paris"))
    body = await bench.chat()
    assert body["object"] == "chat.completion" and body["model"] == "tiny"
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Paris", "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    prompt = len(bench.engine.submissions[0].prompt)
    assert body["usage"] == {
        "prompt_tokens": prompt,
        "completion_tokens": 6,
        "total_tokens": prompt + 6,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


async def test_a_stream_says_the_same() -> None:
    bench = Bench(script("Paris"))
    events = await bench.stream()
    assert text_of(events) == "Paris" and events[-1] == "[DONE]"
