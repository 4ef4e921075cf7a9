"""How the page draws text that grows: always what one parse of it would give, and never more than it has to touch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browser import CHROMIUM, comes_to, opened_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# What the scripts below share: random numbers that are the same each time, and what a text looks like.
TOOLS = """
  const { AnswerText } = await import("/ui/text/sheet.js");
  const { build } = await import("/ui/text/build.js");
  const { outline, read } = await import("/ui/text/markdown.js");
  const numbers = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  // Colours come later, and say nothing about the text.
  const plain = (node) => {
    const copy = node.cloneNode(true);
    for (const code of copy.querySelectorAll("figure.code code")) code.textContent = code.textContent;
    for (const formula of copy.querySelectorAll(".formula")) {
      const source = formula.querySelector("annotation")?.textContent;
      formula.textContent = source ?? formula.textContent.replace(/^[$]+|[$]+$/g, "");
    }
    return copy;
  };
  const shape = (node) => [...plain(node).childNodes].map((child) => child.outerHTML ?? child.data).join("\\n");
  const shown = (view) => [...view.element.children].map(shape).filter(Boolean).join("\\n");
  const fresh = (text) => {
    const env = { references: {} };
    return shape(build(read(outline(text, env), env)));
  };
"""

FRAGMENTS = [
    "Plain words of a *sentence*.",
    "two lines\nof one paragraph",
    "# Heading",
    "Setext\n===",
    "- one\n- two",
    "- one\n\n  more of it\n- two",
    "- [ ] open\n- [x] done",
    "1. first\n2. second\n   - inner\n   - inner two",
    "7) seven\n8) eight\n\n9) nine",
    "> quote\nlazy",
    "> - item in a quote",
    "```python\nx = 1\n\ny = 2\n```",
    "~~~\ntilde\n~~~",
    "    indented\n\n    code",
    "| a | b |\n|--|:-:|\n| 1 | 2<br>3 |\n| `4` | H<sub>2</sub>O |",
    "---",
    "$$\nx^2\n$$",
    "Press <kbd>A</kbd>, <sub>*x*</sub>, <sup>open.",
    "- ```\n  in a list\n  ```",
    "* star\n+ plus\n- minus",
    "\tx",
    "-\n  late\n- next",
    "Line with break  \nnext",
    "\u202egnidda `a\u200bb`",
]
FORWARD = ["See [name] and [other][name].", "- an [item] of a list\n- and one", "| [name] |\n|--|\n| [item] |"]
DEFINITIONS = [
    "[name]: https://example.org/a",
    "[item]: https://example.org/b 'title'",
    "- [name]: https://example.org/c",
]

# Texts of random fragments, shown in random pieces: at each piece what is shown is what one parse of it gives.
PATCHED = f"""async ([fragments, seed, rounds]) => {{
  {TOOLS}
  const random = numbers(seed);
  const pick = (from) => from[Math.floor(random() * from.length)];
  for (let round = 0; round < rounds; round += 1) {{
    const parts = Array.from({{ length: 2 + Math.floor(random() * 7) }}, () => pick(fragments));
    const text = parts.map((part) => part + (random() < 0.75 ? "\\n\\n" : "\\n")).join("");
    const view = new AnswerText();
    document.body.append(view.element);
    for (let at = 0; at < text.length; ) {{
      at = Math.min(text.length, at + 1 + Math.floor(random() * 12));
      const soFar = text.slice(0, at);
      view.show(soFar);
      // The beginning of a closing fence waits until it is whole.
      const isHeld = /(^|\\n) *(`+|~+)$/.test(soFar);
      if (!isHeld && shown(view) !== fresh(soFar)) return {{ soFar, shown: shown(view), fresh: fresh(soFar) }};
    }}
    view.end();
    if (shown(view) !== fresh(text)) return {{ text, shown: shown(view), fresh: fresh(text) }};
    view.element.remove();
  }}
  return null;
}}"""

# The same, where links are used before they are defined: at the end.
REBUILT = f"""async ([fragments, seed, rounds]) => {{
  {TOOLS}
  const random = numbers(seed);
  const pick = (from) => from[Math.floor(random() * from.length)];
  for (let round = 0; round < rounds; round += 1) {{
    const parts = Array.from({{ length: 2 + Math.floor(random() * 7) }}, () => pick(fragments));
    const text = parts.map((part) => part + (random() < 0.75 ? "\\n\\n" : "\\n")).join("");
    const view = new AnswerText();
    for (let at = 0; at < text.length; ) {{
      at = Math.min(text.length, at + 1 + Math.floor(random() * 40));
      view.show(text.slice(0, at));
    }}
    view.end();
    if (shown(view) !== fresh(text)) return {{ text, shown: shown(view), fresh: fresh(text) }};
  }}
  return null;
}}"""

# One long text in pieces of about a token.
LONG = f"""async ([text, piece]) => {{
  {TOOLS}
  const view = new AnswerText();
  document.body.append(view.element);
  const random = numbers(3);
  for (let at = 0; at < text.length; ) {{
    at += 1 + Math.floor(random() * piece);
    view.show(text.slice(0, at));
  }}
  view.end();
  const [one, other] = [shown(view), fresh(text)];
  const isSame = one === other;
  let at = 0;
  while (!isSame && one[at] === other[at]) at += 1;
  const around = (whole) => whole.slice(Math.max(0, at - 80), at + 80);
  const difference = isSame ? null : [around(one), around(other)];
  view.element.remove();
  return {{ isSame, difference }};
}}"""

# A selection in a block, then further tokens.
SELECTED = f"""async ([text, start, place, further]) => {{
  {TOOLS}
  const view = new AnswerText();
  document.body.append(view.element);
  view.show(text.slice(0, start));
  const node = document.evaluate(place, view.element, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
  const range = document.createRange();
  range.setStart(node, 1);
  range.setEnd(node, 6);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const before = String(getSelection());
  for (let token = 0; token < further; token += 1) {{
    view.show(text.slice(0, start + 4 * (token + 1)));
    // Colours and formulas are drawn meanwhile.
    if (token % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 60));
  }}
  const after = String(getSelection());
  view.element.remove();
  return [before, after];
}}"""


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    server.wait_ready()
    with opened_page(browser, f"http://127.0.0.1:{server.port}") as opened:
        yield opened


def test_growing_text_is_at_each_moment_what_one_parse_gives(page: Page) -> None:
    assert page.evaluate(PATCHED, [FRAGMENTS, 11, 150]) is None


def test_a_link_defined_after_its_use_is_a_link_at_the_end(page: Page) -> None:
    assert page.evaluate(REBUILT, [[*FRAGMENTS[:8], *FORWARD, *FORWARD, *DEFINITIONS], 5, 200]) is None


LISTS: dict[str, str] = {
    "tight": "".join(f"- item {n} of a *long* list with `code`\n" for n in range(1500)),
    "numbered": "".join(f"{n}. item {n}\n   - inner\n" for n in range(3, 900)),
    "loose at the end": "".join(f"- item {n} of a long list\n" for n in range(600)) + "\n- last\n",
    "loose late, without paragraphs": "".join(f"-\n  ```\n  {n}\n  ```\n" for n in range(400)) + "\n- last\n",
    "defined inside": "".join(f"- see [a] {n}\n" for n in range(300)) + "- [a]: https://example.org\n" * 2,
    "table": "| n | square |\n|--|--:|\n" + "".join(f"| {n} | {n * n} **b** |\n" for n in range(1200)),
    "ragged table": "| a " * 20 + "|\n" + "|--" * 20 + "|\n" + "| x |\n" * 3600 + "\nafter",
    "fence": "```python\n" + "for x in range(10):\n    print(x)\n" * 800 + "```\n\nafter",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_long_block_is_what_one_parse_gives(page: Page, name: str) -> None:
    # So many pieces that a parse of all of it at each would take minutes.
    found = page.evaluate(LONG, [LISTS[name], 400 if name == "ragged table" else 60])
    assert found["isSame"], found["difference"]


PLACES = {
    "closed block": (
        "Block one.\n\nBlock two.\n\nThe third block.\n\n" + "More words come here. " * 120,
        60,
        "//p[3]/text()",
    ),
    "block that closes": ("The open block has\n" + "words. " * 20 + "\n\n" + "And more. " * 300, 60, "//p[1]/text()"),
    "item of a list": ("".join(f"- item {n} of a list\n" for n in range(200)), 100, "//li[2]/text()"),
    "row of a table": ("| a | b |\n|--|--|\n" + "| first cell | second |\n" * 120, 100, "//td[1]/text()"),
    "code": ("```python\ndefine = 'some text'\n" + "for x in range(10):\n    print(x)\n" * 90, 60, "//code//text()"),
    "code in a list": ("- first\n\n  ```python\n" + "  somewhere = 3\n" * 150, 80, "//code//text()"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_selection_survives_500_tokens(page: Page, place: str) -> None:
    text, start, path = PLACES[place]
    before, after = page.evaluate(SELECTED, [text, start, path, 500])
    assert len(before) == 5
    assert after == before


def test_a_whole_text_is_shown_from_its_end(page: Page) -> None:
    text = "".join(f"## Part {n}\n\n{'Words of a paragraph. ' * 20}\n\n- one\n- two\n\n" for n in range(400))
    script = f"""async (text) => {{
      {TOOLS}
      const view = new AnswerText();
      document.body.append(view.element);
      view.open(text);
      await null;
      const sheets = [...view.element.children];
      const drawn = sheets.map((sheet) => sheet.childNodes.length > 0);
      const first = {{ hasLast: drawn.at(-1), hasFirst: drawn[0] }};
      while (sheets.some((sheet) => !sheet.firstChild)) await new Promise((resolve) => setTimeout(resolve, 5));
      return {{ ...first, isSame: shown(view) === fresh(text) }};
    }}"""
    assert page.evaluate(script, text) == {"hasLast": True, "hasFirst": False, "isSame": True}


# Whole at once, or in two parts of which the first is seen: what waits is drawn, and then all is what one parse gives.
WHOLE = f"""async ([text, seen]) => {{
  {TOOLS}
  const view = new AnswerText();
  document.body.append(view.element);
  if (seen) {{
    view.show(text.slice(0, seen));
    view.show(text);
    view.end();
  }} else view.open(text);
  await null;
  const sheets = [...view.element.children].slice(0, -1);
  while (sheets.some((sheet) => !sheet.firstChild)) await new Promise((next) => setTimeout(next, 5));
  const isSame = shown(view) === fresh(text);
  view.element.remove();
  return isSame;
}}"""
DAYS = "".join(
    f"## Day {n}\n\nWords, [a link][{n}], [one][no].\n\n1. Do:\n   ```sh\n   ls\n   ```\n2. Then\n\n"
    f"```python\nx = 1\n\ny = 2\n```\n\n[{n}]: https://example.org/{n}\n\n"
    for n in range(300)
)
LATE = (
    DAYS.replace("]: https", "] = https")
    + "".join(f"[{n}]: https://example.org/{n}\n" for n in range(100))
    + "\nThe end."
)


@pytest.mark.parametrize("text", [DAYS, LATE, LISTS["loose at the end"], LISTS["table"], LISTS["fence"]])
def test_a_text_that_comes_at_once_is_what_one_parse_gives(page: Page, text: str) -> None:
    for seen in (0, 700, 7000, 20_000):
        assert page.evaluate(WHOLE, [text, seen]), seen


def test_a_text_is_read_a_sheet_at_a_time_and_the_end_first(page: Page) -> None:
    script = """async (text) => {
      const { default: MarkdownIt } = await import("/ui/vendor/markdown-it.js");
      const { AnswerText } = await import("/ui/text/sheet.js");
      const { parse } = MarkdownIt.prototype;
      const read = [];
      MarkdownIt.prototype.parse = function (source, env) {
        read.push(source);
        return parse.call(this, source, env);
      };
      const view = new AnswerText();
      document.body.append(view.element);
      view.open(text);
      await null;
      const atOnce = read.join("").length;
      const isEnd = text.endsWith(read[0]);
      const { length } = view.element.children;
      while (read.length < length) await new Promise((next) => setTimeout(next, 5));
      MarkdownIt.prototype.parse = parse;
      return { atOnce, isEnd, count: read.length, longest: Math.max(...read.map((source) => source.length)) };
    }"""
    text = DAYS.replace("]: https", "] = https")
    found = page.evaluate(script, text)
    assert found["isEnd"]
    assert found["atOnce"] < 20_000 < len(text)
    assert found["longest"] < 7000
    assert len(text) / 7000 < found["count"] < len(text) / 6000 + 1


def test_unseen_characters_in_code_have_marks_and_are_copied_as_they_are(page: Page) -> None:
    shown: dict[str, Any] = page.evaluate(
        """async (text) => {
          const { AnswerText } = await import("/ui/text/sheet.js");
          const view = new AnswerText();
          document.body.append(view.element);
          for (let at = 1; at <= text.length; at += 1) view.show(text.slice(0, at));
          view.end();
          const marks = [...view.element.querySelectorAll(".mark")].map((mark) => mark.dataset.point);
          const drawn = getComputedStyle(view.element.querySelector(".mark"), "::before").content;
          return { marks, drawn, code: view.element.querySelector("figure code").textContent };
        }""",
        "`in\u2066line`\n\n```\nif a:\u202e # x\u200b\u200b\u200b\n```\n",
    )
    assert shown["marks"] == ["U+2066", "U+202E", "U+200B U+200B U+200B"]
    assert "U+2066" in shown["drawn"]
    assert shown["code"] == "if a:\u202e # x\u200b\u200b\u200b\n"


def test_colours_come_while_a_fence_is_open_and_stay(page: Page) -> None:
    seen = page.evaluate(
        """async () => {
          // It stands while something is done: what takes a busy machine long is taken for code that does.
          let now = 0;
          performance.now = () => now;
          const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms, (now += 1000)));
          const { AnswerText } = await import("/ui/text/sheet.js");
          const view = new AnswerText();
          document.body.append(view.element);
          let text = "```python\\ndef first():\\n";
          view.show(text);
          const until = 500_000;
          while (!view.element.querySelector(".code-word") && now < until) {
            text += "    return 1\\n";
            view.show(text);
            await wait(50);
          }
          const word = view.element.querySelector(".code-word");
          for (let line = 0; line < 20; line += 1) {
            text += "    return 2\\n";
            view.show(text);
            await wait(30);
          }
          text += "```\\n\\nafter\\n";
          view.show(text);
          view.end();
          const all = () => [...view.element.querySelectorAll(".code-word")];
          while (all().length < 22 && now < until) await wait(50);
          const words = all();
          return { isThere: word !== null, isSame: words[0] === word, count: words.length };
        }"""
    )
    assert seen["isThere"]
    assert seen["isSame"]
    assert seen["count"] > 21


def test_a_heading_without_words_is_not_there(page: Page) -> None:
    shown: list[str] = page.evaluate(
        """async (text) => {
          const { AnswerText } = await import("/ui/text/sheet.js");
          const view = new AnswerText();
          view.element.className = "prose";
          document.body.append(view.element);
          view.show(text);
          view.end();
          return [...view.element.querySelectorAll("h2, h3")].map((heading) => getComputedStyle(heading).display);
        }""",
        "## Words\n\nof an answer that was cut here:\n\n###",
    )
    assert shown == ["block", "none"]


def test_each_language_that_is_known_has_colours_and_is_one_file_at_most(page: Page) -> None:
    found = page.evaluate(
        """async () => {
          // What takes a busy machine long is taken for code that does.
          performance.now = () => 0;
          const { languageOf, painter } = await import("/ui/text/highlight.js");
          const sources = { js: "const a = () => 1;", ts: "const a: number = 1;", c: "int main(void) { return 0; }",
            "c++": "template <class T> T one();", python: "def one(): return 1", json: '{"a": 1}' };
          const words = {};
          for (const [name, source] of Object.entries(sources)) {
            const coloured = (await painter(languageOf(name), source))(source);
            words[name] = coloured.querySelector(".code-word, .code-name").textContent;
          }
          return words;
        }"""
    )
    assert found == {"js": "const", "ts": "const", "c": "int", "c++": "template", "python": "def", "json": '"a"'}
    names = [file.stem for file in (Path(__file__).parents[2] / "ui/vendor/highlight").glob("*.js")]
    assert not {"javascript", "c", "plaintext"} & set(names)


def test_code_and_formulas_are_drawn_one_after_the_other_once_their_library_is_there(page: Page) -> None:
    script = """async (text) => {
      // What takes a busy machine long is taken for code that does.
      performance.now = () => 0;
      const { AnswerText } = await import("/ui/text/sheet.js");
      const { default: highlighter } = await import("/ui/vendor/highlight/core.js");
      const { registerLanguage } = highlighter;
      const registered = [];
      highlighter.registerLanguage = (name, grammar) => {
        registered.push(name);
        registerLanguage(name, grammar);
      };
      const view = new AnswerText();
      document.body.append(view.element);
      const count = () => view.element.querySelectorAll(".code-word, .katex").length;
      // No time is left for more than one thing at once.
      const changes = [];
      window.requestIdleCallback = (run) =>
        setTimeout(() => {
          changes.push(count());
          run({ timeRemaining: () => 0, didTimeout: true });
        });
      window.cancelIdleCallback = clearTimeout;
      view.show(text);
      view.end();
      while (count() < 80) await new Promise((next) => setTimeout(next, 5));
      const most = Math.max(...changes.map((now, at) => now - (changes[at - 1] ?? 0)));
      return { most, registered };
    }"""
    found = page.evaluate(script, "```python\nreturn\n```\n\n$x$\n\n" * 40)
    assert found == {"most": 1, "registered": ["python"]}


# A place over the page, which the page itself leaves alone.
PLACE = """const place = document.createElement("div");
  Object.assign(place.style, { position: "fixed", inset: 0, overflow: "hidden auto", background: "Canvas" });
  document.body.append(place);"""
# Shows a text as an answer, whole and with all that is drawn when there is time; then asks.
DRAWN = f"""async (text) => {{
  const {{ AnswerText }} = await import("/ui/text/sheet.js");
  {PLACE}
  const view = new AnswerText();
  place.append(view.element);
  view.show(text);
  view.end();
  const isDrawn = (each) => each.querySelector(".katex") || each.title;
  const formulas = [...view.element.querySelectorAll(".formula")];
  while (!formulas.every(isDrawn)) await new Promise((next) => setTimeout(next, 5));
  return (ASK)(view.element);
}}"""


def drawn(page: Page, text: str, ask: str) -> Any:
    return page.evaluate(DRAWN.replace("ASK", ask), text)


WORDS = "words that no line of a phone has the room for and that nothing breaks"


def test_a_formula_that_is_wider_than_its_line_scrolls_inside_itself(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    wide = f"\\text{{{WORDS}}}"
    text = f"So ${wide}$ it is, and $x + y$.\n\n- item $\\frac{{{wide}}}{{2}}$\n\n$${wide}$$\n\n$$x$$"
    ask = """(place) => [...place.querySelectorAll(".formula")].map((each) => [
      each.getBoundingClientRect().right <= place.getBoundingClientRect().right + 1,
      each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === "auto", each.tabIndex])"""
    kept, short = [True, True, 0], [True, False, -1]
    assert drawn(page, text, ask) == [kept, short, kept, kept, short]


def test_a_table_fades_where_it_goes_on_beyond_its_edge(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    wide = "|" + " wonderfully |" * 8 + "\n|" + "--|" * 8 + "\n|" + " a |" * 8
    drawn(page, f"{wide}\n\n| a |\n|--|\n| b |\n", "() => null")
    boxes = page.locator(".table-box")
    mask = "(box) => getComputedStyle(box).maskImage.split('(')[0]"
    comes_to(lambda: boxes.nth(0).evaluate(mask), "linear-gradient")
    assert boxes.nth(1).evaluate(mask) == "none"
    boxes.nth(0).evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    comes_to(lambda: boxes.nth(0).evaluate(mask), "none")


def test_a_formula_is_held_to_its_limits(page: Page) -> None:
    text = "$$\\rule{1000em}{1000em}$$\n\n$$\\def\\a{\\a\\a}\\a$$\n\n$\\frac{1$"
    ask = """(place) => [place.querySelector(".katex-rule")?.outerHTML, place.querySelectorAll(".katex").length,
      ...[...place.querySelectorAll(".formula")].map((each) => [each.title.slice(0, 38), each.textContent])]"""
    rule, count, *formulas = drawn(page, text, ask)
    assert "20em" in rule
    assert "1000em" not in rule
    assert count == 1
    assert [title for title, _ in formulas] == [
        "",
        "KaTeX parse error: Too many expansions",
        "KaTeX parse error: Unexpected end of i",
    ]
    assert [shown for _, shown in formulas[1:]] == ["$$\\def\\a{\\a\\a}\\a$$", "$\\frac{1$"]


def test_code_that_takes_long_stays_plain(page: Page) -> None:
    found = page.evaluate(
        """async () => {
          const { isSmall, load, painter } = await import("/ui/text/highlight.js");
          await load("java");
          let now = 0;
          const each = [];
          performance.now = () => (now += each.length ? each.shift() : 0);
          const isColoured = async (...costs) => {
            each.splice(0, 9, ...costs.flatMap((ms) => [0, ms]));
            return (await painter("java", "int a = 1;")) !== null;
          };
          return {
            quick: await isColoured(10), onceSlow: await isColoured(40, 10), slow: await isColoured(40, 40),
            hopeless: await isColoured(70, 10),
            small: ["x".repeat(400), "x".repeat(401), "x\\n".repeat(20_000), "x\\n".repeat(20_001)].map(isSmall),
          };
        }"""
    )
    small = [True, False, True, False]
    assert found == {"quick": True, "onceSlow": True, "slow": False, "hopeless": False, "small": small}


def test_what_scrolls_can_be_reached_and_text_runs_as_its_letters_do(page: Page) -> None:
    text = "```py\nx\n```\n\n| a |\n|--|\n| b |\n\n"
    text += "\u05e9\u05dc\u05d5\u05dd `a`\n\n- \u0645\u0631\u062d\u0628\u0627\n- left\n"
    ask = """(place) => [...place.querySelectorAll("pre, .table-box, p, li, p code")].map((each) => [
      each.tagName, each.tabIndex, each.role, each.ariaLabel, each.dir,
      getComputedStyle(each).unicodeBidi === "isolate"])"""
    assert drawn(page, text, ask) == [
        ["PRE", 0, "region", "Code, py", "ltr", True],
        ["DIV", 0, "region", "Table", "", True],
        ["P", -1, None, None, "rtl", True],
        ["CODE", -1, None, None, "", True],
        ["LI", -1, None, None, "rtl", True],
        ["LI", -1, None, None, "", True],
    ]


def test_a_sheet_that_is_skipped_has_the_height_that_it_would_have(page: Page) -> None:
    text = "".join(f"## Part {n}\n\n{'Words of a paragraph. ' * 30}\n\n- one\n- two\n\n" for n in range(40))
    script = """async (text) => {
      const { AnswerText } = await import("/ui/text/sheet.js");
      const { lastly } = await import("/ui/text/idle.js");
      PLACE
      const view = new AnswerText();
      place.append(view.element);
      view.open(text);
      const sheets = [...view.element.children];
      while (sheets.some((sheet) => !sheet.firstChild)) await new Promise((next) => setTimeout(next, 5));
      for (let round = 0; round < 3; round += 1) await new Promise((next) => lastly(next));
      const closed = sheets.filter((sheet) => sheet.matches(".closed"));
      return closed.map((sheet) => {
        const told = parseFloat(sheet.style.containIntrinsicBlockSize.split(" ").at(-1));
        sheet.style.contentVisibility = "visible";
        return told - sheet.getBoundingClientRect().height;
      });
    }"""
    off = page.evaluate(script.replace("PLACE", PLACE), text)
    assert len(off) > 3
    assert max(map(abs, off)) < 1
