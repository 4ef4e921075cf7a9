"""Hostile texts run nothing, ask nobody, break nothing and are not lost, wherever the page shows them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import CHROMIUM, opened_page
from tests.e2e.hostile import FILES, GROUPS, INPUTS, SIZE
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# Times an ordinary text of 400,000 characters, which a busy machine makes slower too.
MOST_TIMES = 40
LONGEST_NAME = 300
# Where a link leads, beside a text that says otherwise; and a picture, which is never loaded.
TOLD = {
    "other host": "(evil.example)",
    "punycode": "(xn--pypal-4ve.example)",
    "credentials": "news (evil.example)",
    "remote picture": "image: secret (evil.example)",
}
# Those that cost much each, and all others.
SHARES = {"size and depth": SIZE, "all others": {name: text for name, text in INPUTS.items() if name not in SIZE}}

# What an imported chat is called in the page's addresses.
IMPORTED = {name: json.loads(text)["conversations"][0]["id"] for name, (text, problem) in FILES.items() if not problem}

# Listens for what the policy refuses, from before the first script of the page.
LISTEN = """
  window.reports = [];
  addEventListener("securitypolicyviolation", (event) =>
    window.reports.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`), true);
"""

# What must not be in an element that shows text of others.
WRONG = """(element) => {
  const REFUSED = new Set("SCRIPT IMG IFRAME OBJECT EMBED STYLE LINK META BASE FORM INPUT TEMPLATE BODY".split(" "));
  const DRAWN = new Set("svg SVG MATH IMG".split(" "));
  const wrong = [];
  for (const each of element.querySelectorAll("*")) {
    // The library of formulas draws with styles, and is given no text that could be one.
    const isDrawn = each.closest(".katex") !== null;
    const isIcon = each.closest("svg.icon") !== null;
    const kind = each.tagName.toUpperCase();
    if (REFUSED.has(kind) || (DRAWN.has(kind) && !isDrawn && !isIcon)) wrong.push(kind);
    for (const { name, value } of each.attributes) {
      const isOurs = isDrawn || (name === "style" && each.matches(".sheet"));
      if (/^(on.*|src|srcset|style|id|name|srcdoc|action|formaction)$/i.test(name) && !isOurs) wrong.push(name);
      if (/href$/i.test(name) && !/^(https?:|mailto:|#)/i.test(value)) wrong.push(value.slice(0, 80));
    }
    const leadsAway = each.matches("a:not([href^='#'])[href]");
    if (leadsAway && (each.target !== "_blank" || each.rel !== "noopener noreferrer")) wrong.push("opens here");
  }
  return wrong;
}"""

# Shows texts as answers, at once and in 40 pieces; waits for colours and formulas.
SHOW = f"""async (texts) => {{
  const {{ AnswerText }} = await import("/ui/text/sheet.js");
  const {{ build }} = await import("/ui/text/build.js");
  const {{ lastly }} = await import("/ui/text/idle.js");
  const {{ outline, read }} = await import("/ui/text/markdown.js");
  const wrongIn = {WRONG};
  const found = {{}};
  let batch = [];
  let length = 0;
  const names = Object.keys(texts);
  for (const [name, text] of Object.entries(texts)) {{
    const shown = [];
    batch.push([name, shown]);
    for (const pieces of [1, 40]) {{
      const view = new AnswerText();
      document.body.append(view.element);
      const step = Math.max(1, Math.ceil(text.length / pieces));
      const start = performance.now();
      for (let at = step; at < text.length + step; at += step) view.show(text.slice(0, at));
      view.end();
      shown.push({{ view, ms: performance.now() - start }});
    }}
    // One wait for many: for each alone it is most of the time. All of the long ones at once are slow to lay out.
    length += text.length;
    if (length < 50_000 && name !== names.at(-1)) continue;
    for (let round = 0; round < 3; round += 1) await new Promise((resolve) => lastly(resolve));
    for (const [name, shown] of batch) {{
      found[name] = shown.map(({{ view: {{ element }}, ms }}) => {{
        const {{ textContent }} = element;
        return {{ ms, wrong: wrongIn(element), words: textContent.slice(0, 3000), length: textContent.length }};
      }});
      for (const {{ view }} of shown) view.element.remove();
    }}
    batch = [];
    length = 0;
  }}
  // All of it, whereas a view would draw no more than its end at once.
  const start = performance.now();
  const env = {{ references: {{}} }};
  build(read(outline("Some **words** with `code`.\\n\\n- one\\n- two\\n\\n".repeat(9000), env), env));
  return {{ found, ordinaryMs: performance.now() - start, hasRun: Boolean(window.hasRun), reports: window.reports }};
}}"""

# A chat in which each text stands wherever the store keeps text of others.
KEEP = """async ([texts, title]) => {
  const conversations = await import("/ui/store/conversations.js");
  const turns = await import("/ui/store/turns.js");
  const id = "h" + Math.floor(Math.random() * 1e9);
  let parent = null;
  let number = 0;
  for (const text of texts) {
    const times = { sent: 1, thought: 2, first: 1, text: 2, last: 3 };
    const name = text.slice(0, 300);
    const base = {
      conversation: id, reasoning: "", tools: [], state: "DONE", request: null, model: name, seed: 1, finish: "stop",
      failure: null, usage: null, timings: null, times, isEdited: false, created: number, v: 1,
    };
    const inside = JSON.stringify({ [name]: [text] });
    const tools = [{ name, arguments: text, result: text }, { name: "a", arguments: inside, result: inside }];
    const question = { ...base, id: `${id}q${number}`, parent, role: "user", text };
    const failed = number % 2 ? { state: "FAILED", failure: name } : {};
    const own = { id: `${id}a${number}`, parent: question.id, role: "assistant" };
    const answer = { ...base, ...own, ...failed, text: name, reasoning: text, tools };
    await turns.save(question);
    await turns.save(answer);
    parent = answer.id;
    number += 1;
  }
  const updated = Date.now();
  await conversations.save({ id, title, head: parent, settings: {}, created: 1, updated, preview: title, v: 1 });
  return id;
}"""


@pytest.fixture
def page(browser: Browser, story_server: Server) -> Iterator[Page]:
    # The page asks how many tokens a chat has, and of hostile calls the server says that they are none.
    known = "status of 400"
    with opened_page(browser, f"http://127.0.0.1:{story_server.port}", script=LISTEN, known=known) as opened:
        yield opened


def assert_nothing_happened(page: Page, selector: str) -> None:
    """selector: the elements that show text of others; for the page around them it is enough that nothing ran."""
    assert page.evaluate("window.hasRun") is None
    assert page.evaluate("window.reports") == []
    assert page.locator("#app").count() == 1
    assert page.locator(".failed-part").count() == 0
    assert page.locator("#app :is(script, iframe, object, embed, base, meta, link, style)").count() == 0
    # All at once: hundreds of questions to the page one by one take most of the test's time.
    assert page.locator(selector).evaluate_all(f"(elements) => elements.flatMap({WRONG})") == []


@pytest.mark.parametrize("share", SHARES)
def test_hostile_answers_stay_text(page: Page, share: str) -> None:
    shown = page.evaluate(SHOW, SHARES[share])
    assert shown["found"].keys() == SHARES[share].keys()
    assert not shown["hasRun"]
    assert shown["reports"] == []
    for name, (at_once, in_pieces) in shown["found"].items():
        assert at_once["wrong"] == [] == in_pieces["wrong"], name
        assert at_once["words"].strip(), name
        assert TOLD.get(name, "") in at_once["words"], name
        assert (at_once["words"], at_once["length"]) == (in_pieces["words"], in_pieces["length"]), name
        assert max(at_once["ms"], in_pieces["ms"]) < MOST_TIMES * shown["ordinaryMs"] + 500, name
        print(f"{name:30} {at_once['ms']:8.1f} ms {in_pieces['ms']:8.1f} ms")


@pytest.mark.parametrize("share", SHARES)
def test_hostile_turns_stay_text_and_are_kept(page: Page, share: str) -> None:
    # Much of the same is tried as an answer; here it has to stand in many places at once.
    texts = [text[:20_000] for text in SHARES[share].values()]
    chat = page.evaluate(KEEP, [texts, texts[0][:LONGEST_NAME]])
    address = page.url.split("#")[0] + f"#/chat/{chat}"
    # In a page that begins with it.
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(".turn.user")).to_have_count(len(texts))
    expect(page.locator(".turn.answer .prose").filter(has_text=re.compile(r"\S"))).to_have_count(len(texts))
    expect(page.locator(".tool-card")).to_have_count(2 * len(texts))
    page.locator(".thinking > button, .tool-card .more").evaluate_all("(all) => all.forEach((each) => each.click())")
    expect(page.locator(".thoughts")).to_have_count(len(texts))
    said = page.locator(".turn.user .said").all_text_contents()
    assert [len(text) for text in said] == [len(text) for text in texts]
    assert_nothing_happened(page, ".prose, .said, .thoughts, .tool-card, .list .name, .ending")
    for tab in ("turn", "raw"):
        page.click(f"#tab-{tab}")
        assert_nothing_happened(page, "#panel-body dl, #panel-body pre")


def test_hostile_titles_stay_text(page: Page) -> None:
    titles = [text[:LONGEST_NAME] for text in [*GROUPS["raw HTML"].values(), *GROUPS["links"].values()]]
    page.evaluate(f"async (titles) => {{ for (const title of titles) await ({KEEP})([['x'], title]); }}", titles)
    page.reload()
    page.click(".list li a >> nth=0")
    assert_nothing_happened(page, ".list .name")
    expect(page).to_have_title(re.compile(r"[<(]"))


# Chooses a file for import, as the menu does.
LOOK = """async ([name, text]) => { const { look } = await import("/ui/state/transfer.js");
  await look(new File([text], name)); }"""
# A file too large to be read; its parts are one.
ENORMOUS = """async () => { const { look } = await import("/ui/state/transfer.js");
  await look(new File(Array(257).fill(new Blob([new Uint8Array(1e6)])), "large.json")); }"""


def test_hostile_files_bring_text_or_nothing(page: Page) -> None:
    page.goto(page.url.split("#")[0] + "#/chat")
    dialog = page.locator("dialog")
    for name, (text, problem) in FILES.items():
        chats = page.evaluate("import('/ui/store/transfer.js').then(({ countConversations }) => countConversations())")
        page.evaluate(LOOK, [f"<img src=x onerror=window.hasRun=1> {name}.json", text])
        expect(dialog.locator(".about").first).to_contain_text(f"<img src=x onerror=window.hasRun=1> {name}.json")
        assert_nothing_happened(page, "dialog .runs, dialog p")
        if problem:
            expect(dialog.locator("[role=alert]")).to_contain_text(f"Nothing was imported. {problem}")
            expect(dialog.locator("#take-in")).to_have_count(0)
            dialog.get_by_text("Close").click()
        else:
            expect(dialog.locator("[role=alert]")).to_have_count(0)
            page.click("#take-in")
        expect(dialog).to_have_count(0)
        after = page.evaluate("import('/ui/store/transfer.js').then(({ countConversations }) => countConversations())")
        assert after == chats + (not problem), name
        if problem:
            continue
        page.evaluate("(id) => { location.hash = `#/chat/${id}`; }", IMPORTED[name])
        expect(page.locator(".turn.answer .prose")).to_have_text(re.compile(r"\S"))
        assert_nothing_happened(page, ".prose, .said, .thoughts, .tool-card, .list .name, .ending")
        assert page.evaluate("Object.keys(Object.prototype).length + ('hasRun' in {}) + ('polluted' in {})") == 0
    page.evaluate(ENORMOUS)
    expect(dialog.locator("[role=alert]")).to_contain_text("Nothing was imported. It is larger than 256 MB.")
    dialog.get_by_text("Close").click()


def test_a_hostile_name_of_a_model_stays_text_in_each_view(
    browser: Browser, real_model: Path, start_server: Callable[..., Any], tmp_path: Path
) -> None:
    """It is the model's name in /v1/models, a value of the configuration, and in lines of the log."""
    model = tmp_path / "<img src=x onerror=window.hasRun=1> <b>[a](javascript:window.hasRun=1).gguf"
    model.hardlink_to(real_model) if real_model.stat().st_dev == tmp_path.stat().st_dev else model.symlink_to(
        real_model
    )
    with start_server(model=model) as own:
        origin = f"http://127.0.0.1:{own.port}"
        with opened_page(browser, origin, script=LISTEN) as page:
            expect(page.locator("#model")).to_contain_text("<img src=x")
            page.click("#model")
            assert_nothing_happened(page, ".menu")
            for view in ("compare", "monitor", "server"):
                page.goto(f"{origin}/ui/#/{view}")
                expect(page.locator("#view")).to_contain_text("<img src=x")
                assert_nothing_happened(page, "#view pre, #view .name")


# What is set in one width, and not sign by sign. A row of 20,000 of one sign took ten seconds with ligatures.
JOINED = """() => [...document.querySelectorAll("body *:not(.katex *)")].filter((each) => {
  const { fontFamily, fontVariantLigatures } = getComputedStyle(each);
  return fontFamily.startsWith("ui-monospace") && fontVariantLigatures !== "none";
}).map((each) => each.outerHTML.slice(0, 100))"""


def test_what_is_set_in_one_width_has_no_ligatures(page: Page) -> None:
    address = page.url
    chat = page.evaluate(KEEP, [["`<<<`", "```\n<<<\n```"], "Signs"])
    page.evaluate("(chat) => { location.hash = `#/chat/${chat}`; }", chat)
    expect(page.locator(".turn.answer figure.code, .tool-card .tree")).to_have_count(3)
    page.locator(".tool-card").get_by_text("Raw").first.click()
    expect(page.locator(".tool-card pre").first).to_be_visible()
    assert page.evaluate(JOINED) == []
    page.goto(f"{address.split('#')[0]}#/server")
    expect(page.locator(".log .line").first).to_be_visible()
    page.click("#config-file")
    expect(page.locator(".file pre")).to_be_visible()
    assert page.evaluate(JOINED) == []


def test_the_set_is_whole() -> None:
    assert len(INPUTS) == sum(len(group) for group in GROUPS.values()) >= 89
