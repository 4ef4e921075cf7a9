"""What stands in a turn beside its text: calls of tools, thoughts, the tokens with what else they could have been."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from ignis.models.registry import open_checkpoint
from tests.e2e.axe import findings
from tests.e2e.browser import CHROMIUM, opened_page
from tests.e2e.playground import held, paced
from tests.e2e.retemplated import with_template
from tests.e2e.server import Server
from tests.e2e.test_thinking import THINKING

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# Keeps a chat of one question and its answer; opens it.
KEEP = """async (fields) => {
  const conversations = await import("/ui/store/conversations.js");
  const turns = await import("/ui/store/turns.js");
  const id = "kept";
  const times = { sent: 1, thought: 3401, first: 1, text: 3401, last: 4000 };
  const base = {
    conversation: id, text: "", reasoning: "", tools: [], state: "DONE", request: null, model: "m", seed: 1,
    finish: "stop", failure: null, usage: null, timings: null, times, isEdited: false, created: 1, v: 1,
  };
  await turns.save({ ...base, id: "q", parent: null, role: "user", text: "Weather?" });
  await turns.save({ ...base, id: "a", parent: "q", role: "assistant", ...fields });
  const kept = { id, title: "Kept", head: "a", settings: {}, created: 1, updated: Date.now(), preview: "", v: 1 };
  await conversations.save(kept);
  location.hash = "#/chat/kept";
}"""

# Gives the kept answer its tokens.
LOGPROBS = """async () => {
  const turns = await import("/ui/store/turns.js");
  const answer = (await turns.readAll("kept")).find((turn) => turn.id === "a");
  const other = [" that", -2.5];
  const drawn = (token, logprob) => [token, logprob, [[token, logprob], other]];
  answer.logprobs = [drawn("See", -0.01), drawn(" this", -0.4), ["!", -3, [other]]];
  await turns.save(answer);
}"""


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    server.wait_ready()
    with opened_page(browser, f"http://127.0.0.1:{server.port}") as opened:
        yield opened


def keep(page: Page, fields: dict[str, Any]) -> None:
    page.evaluate(KEEP, fields)
    page.reload()
    expect(page.locator(".turn.answer")).to_be_visible()


def test_a_call_shows_its_arguments_as_a_tree_and_its_result_folded(page: Page) -> None:
    arguments = {"city": "Cologne", "days": [1, 2], "options": {"unit": "C"}}
    result = "\n".join(f"line {number}" for number in range(9))
    keep(page, {"tools": [{"name": "weather", "arguments": json.dumps(arguments), "result": result}]})
    card = page.locator(".tool-card")
    expect(card.locator("strong")).to_have_text("weather")
    expect(card.locator(".tree .key")).to_have_text(["city", "days", "0", "1", "options", "unit"])
    expect(card.locator(".tree summary").first).to_contain_text("2 items")
    expect(card.locator(".result pre")).to_have_text("line 0\nline 1\nline 2 …")
    card.locator(".more").click()
    expect(card.locator(".result pre")).to_have_text(result)
    card.get_by_text("Raw").click()
    expect(card.locator("pre >> nth=0")).to_have_text(json.dumps(arguments))


def test_arguments_that_were_cut_are_shown_as_far_as_they_came(page: Page) -> None:
    keep(page, {"state": "STOPPED", "tools": [{"name": "weather", "arguments": '{"city": "Col'}]})
    expect(page.locator(".tool-card .tree .value")).to_have_text("Col")


def test_thoughts_are_one_line_that_says_what_became_of_them(page: Page) -> None:
    details = {"reasoning_tokens": 412, "rewound_tokens": 30}
    usage = {"completion_tokens": 500, "prompt_tokens": 9, "completion_tokens_details": details}
    keep(page, {"text": "Rain.", "reasoning": "First. " * 400, "usage": usage, "forcedAt": 412})
    line = page.locator(".thinking > button")
    expect(line).to_contain_text("Thought for 3.4 s · 412 tokens · ended at its limit · 30 tokens of a loop taken back")
    assert page.locator(".thoughts").count() == 0
    line.click()
    box = page.locator(".thoughts")
    expect(box).to_have_text("First. " * 400)
    height, window = box.bounding_box(), page.viewport_size
    assert height and window and height["height"] <= 0.4 * window["height"] + 1


@pytest.fixture(scope="module")
def thinker(start_server: Any, real_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Thinks aloud, sixty tokens a second."""
    checkpoint = open_checkpoint(real_model)
    template = checkpoint.chat_template or ""
    checkpoint.close()
    path = with_template(real_model, template, THINKING, tmp_path_factory.mktemp("thinker") / "thinker.gguf")
    with start_server(command=paced(60), model=path) as running:
        running.wait_ready()
        yield running


def test_tokens_of_thoughts_are_counted_while_they_come(browser: Browser, thinker: Server) -> None:
    with opened_page(browser, f"http://127.0.0.1:{thinker.port}") as page:
        with held(thinker, 40):
            page.fill("#prompt", "Say exactly: " + "A thought. " * 40 + "</think>Rain.")
            page.press("#prompt", "Enter")
            line = page.locator(".thinking > button")
            expect(line).to_have_text(re.compile(r"Thinking \d+\.\d s · 40 tokens"))
            page.keyboard.press("Escape")
            expect(page.locator(".ending")).to_contain_text("Stopped by you")
            expect(line).to_have_text(re.compile(r"Thought for \d+\.\d s · 40 tokens"))
        page.reload()
        expect(line).to_have_text(re.compile(r"Thought for \d+\.\d s · 40 tokens"))
        page.click(".turn.answer .again")
        expect(page.locator(".turn.answer .prose")).to_have_text("Rain.")
        # The server's own count.
        expect(line).to_have_text(re.compile(r"Thought for \d+\.\d s · 12\d tokens"))


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cfc00000030101005f60cf6b0000000049454e44ae426082"
)

# Pastes into the composer, as a person does.
PASTE = """([text, files]) => {
  const data = new DataTransfer();
  if (text) data.setData("text/plain", text);
  for (const [name, type, base64] of files)
    data.items.add(new File([Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))], name, { type }));
  const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  document.getElementById("prompt").dispatchEvent(event);
}"""


def test_a_long_text_that_is_pasted_becomes_a_file_and_goes_out_in_the_message(page: Page) -> None:
    keep(page, {"text": "Rain."})
    long = "A line of it.\n" * 1500
    page.evaluate(PASTE, [long, []])
    chip = page.locator(".composer .attached li")
    expect(chip).to_contain_text("Pasted text.txt")
    expect(chip).to_contain_text("21 kB")
    expect(page.locator("#prompt")).to_have_value("")
    chip.get_by_text("Put back").click()
    expect(page.locator("#prompt")).to_have_value(long)
    expect(chip).to_have_count(0)
    page.fill("#prompt", "Say hi")
    page.set_input_files(".attach input", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Three ``` marks"})
    expect(chip).to_contain_text("notes.txt")
    # It is kept with the draft.
    page.reload()
    expect(chip).to_contain_text("notes.txt")
    page.fill("#set-max_completion_tokens", "2")
    page.press("#set-max_completion_tokens", "Tab")
    page.fill("#prompt", "Say hi")
    page.press("#prompt", "Enter")
    expect(page.locator(".turn.user .attached")).to_contain_text("notes.txt")
    expect(chip).to_have_count(0)
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(2)
    page.click("#tab-raw")
    page.click("#raw-text")
    request = json.loads(page.locator("#panel-body pre").first.inner_text())
    assert request["input"][-1]["content"] == "Say hi\n\nnotes.txt:\n````\nThree ``` marks\n````"


DROP = """([selector, name]) => {
  const data = new DataTransfer();
  data.items.add(new File(["Three marks"], name, { type: "text/plain" }));
  const event = (kind) => new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
  const place = document.querySelector(selector);
  return [place.dispatchEvent(event("dragover")), place.dispatchEvent(event("drop"))];
}"""


@pytest.mark.parametrize("place", [".transcript", "aside", ".composer", "nav.rail"])
def test_a_file_is_taken_wherever_it_is_dropped(page: Page, place: str) -> None:
    # False: the browser does not go to the file, which would cut an answer.
    assert page.evaluate(DROP, [place, "notes.txt"]) == [False, False]
    expect(page.locator(".composer .attached li")).to_contain_text("notes.txt")
    page.evaluate("location.hash = '#/monitor'")
    expect(page.locator(".monitor")).to_be_visible()
    assert page.evaluate(DROP, ["main", "other.txt"]) == [False, False]


def test_text_that_comes_with_its_picture_is_pasted_as_text(page: Page) -> None:
    picture = [["image.png", "image/png", base64.b64encode(PIXEL).decode()]]
    page.evaluate(PASTE, ["1\t2\n3\t4", picture])
    expect(page.locator(".composer .attached li")).to_have_count(0)
    # Files that were copied come with their names.
    page.evaluate(PASTE, ["image.png", picture])
    expect(page.locator(".composer .attached li")).to_contain_text("image.png")


def test_a_picture_for_a_model_that_sees_nothing_is_kept_and_the_button_says_so(page: Page) -> None:
    keep(page, {"text": "Rain."})
    page.evaluate(PASTE, ["", [["dot.png", "image/png", base64.b64encode(PIXEL).decode()]]])
    chip = page.locator(".composer .attached li.wrong")
    expect(chip).to_contain_text("dot.png")
    expect(chip.locator("img")).to_have_js_property("naturalWidth", 1)
    page.fill("#prompt", "What is it?")
    expect(page.locator("#send")).to_have_attribute("title", re.compile("takes no pictures"))
    page.press("#prompt", "Enter")
    expect(page.locator(".composer [role=alert]")).to_contain_text("takes no pictures")
    assert page.locator(".turn").count() == 2
    page.reload()
    expect(chip).to_contain_text("dot.png")
    chip.get_by_label("Remove dot.png").click()
    expect(page.locator(".composer [role=alert]")).to_have_count(0)
    expect(page.locator("#send")).to_have_attribute("title", "Send (Enter)")


def test_a_picture_is_sent_as_data_where_the_model_sees(page: Page) -> None:
    content = page.evaluate(
        """async ([name, base64]) => {
          const { read } = await import("/ui/state/attachments.js");
          const { contentOf } = await import("/ui/state/content.js");
          const blob = new Blob([Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))], { type: "image/png" });
          const attachments = await read([{ id: "x/1", name, type: "image/png", size: blob.size, blob }]);
          return contentOf({ text: "What is it?", attachments });
        }""",
        ["dot.png", base64.b64encode(PIXEL).decode()],
    )
    url = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    assert content == [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]


def test_a_file_that_is_neither_text_nor_picture_is_refused_in_words(page: Page) -> None:
    name = "<img src=x onerror=window.hasRun=1>.bin"
    page.set_input_files(".attach input", {"name": name, "mimeType": "application/x", "buffer": b"\xff\0\xfe"})
    expect(page.locator(".composer [role=alert]")).to_have_text(f"{name}: neither a picture nor text")
    page.set_input_files(".attach input", {"name": name, "mimeType": "text/plain", "buffer": b"<script>"})
    expect(page.locator(".composer .attached .name")).to_have_text(name)
    page.click(".composer .attached summary")
    expect(page.locator(".composer .attached pre")).to_have_text("<script>")
    assert page.evaluate("window.hasRun") is None


def cap(page: Page, tokens: int) -> None:
    page.fill("#set-max_completion_tokens", str(tokens))
    page.press("#set-max_completion_tokens", "Tab")


def test_tokens_show_what_else_they_could_have_been(page: Page) -> None:
    cap(page, 8)
    page.click("#tab-turn")
    expect(page.locator("#logprobs")).not_to_be_checked()
    page.check("#logprobs")
    page.fill("#prompt", "Write a long story about a lighthouse.")
    page.press("#prompt", "Enter")
    tokens = page.locator(".tokens .drawn > span")
    expect(tokens).to_have_count(8)
    page.click("#tab-raw")
    page.click("#raw-text")
    shown = page.locator("#panel-body pre")
    expect(shown).to_have_count(2)
    request, answer = (json.loads(text) for text in shown.all_inner_texts())
    assert (request["logprobs"], request["top_logprobs"]) == (True, 5)
    assert "".join(tokens.all_text_contents()) == answer["choices"][0]["message"]["content"]
    tokens.nth(2).hover()
    rows = page.locator(".choices tr")
    expect(rows.first).to_be_visible()
    assert rows.count() in {5, 6}
    shares = [
        float(text.removesuffix(" %").removeprefix("< ")) for text in rows.locator("td:last-child").all_inner_texts()
    ]
    assert 0 < sum(shares) <= 101
    # The five likeliest, after the one that was drawn where it is none of them.
    assert shares[-5:] == sorted(shares[-5:], reverse=True)
    expect(page.locator(".choices tr.drawn")).to_have_count(1)
    tokens.nth(0).focus()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(tokens.nth(7)).to_be_focused()
    expect(page.locator(".choices")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".choices")).to_have_count(0)
    page.click("#tab-turn")
    page.uncheck("#logprobs")
    expect(page.locator(".tokens")).to_have_count(0)
    expect(page.locator(".turn.answer .prose")).to_be_visible()
    page.reload()
    page.click("#tab-turn")
    page.check("#logprobs")
    expect(tokens).to_have_count(8)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_in_a_turn_with_all_there_is(
    browser: Browser, server: Server, axe: str, scheme: Any, width: int
) -> None:
    server.wait_ready()
    origin = f"http://127.0.0.1:{server.port}"
    size = {"width": width, "height": 800}
    with opened_page(browser, origin, viewport=size, color_scheme=scheme) as page:
        code = "```python\nif x:\u202e # y\n```"
        text = f"See [x](https://example.org).\n\n- [x] done\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n{code}"
        call = {"name": "weather", "arguments": '{"city": "Cologne", "days": [1, true]}', "result": "line\n" * 9}
        keep(page, {"text": text, "reasoning": "First. " * 400, "tools": [call]})
        page.locator(".thinking > button").click()
        file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Marks"}
        page.set_input_files(".attach input", [file, {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL}])
        expect(page.locator(".composer .attached li")).to_have_count(2)
        page.evaluate(LOGPROBS)
        expect(page.locator("figure.code .mark")).to_have_count(1)
        assert findings(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.reload()
        page.evaluate("import('/ui/state/settings.js').then(({ set }) => set({ logprobs: true }))")
        page.locator(".tokens .drawn > span").nth(1).focus()
        expect(page.locator(".choices")).to_be_visible()
        assert findings(page, axe) == []
