"""Takes the pictures of the guide and of README.md, and prints which it made and how large they are.

    python3 build.py bench bench_pictures [folder] [--port 8000] [--seconds 310]

folder: where they go, spec/guide unless told. The server is the real one, first without a model, then with the default
one, which lies in models/ once `build.py test` has run; a mirror on this machine has two more for the Server view. The
page is the real one in Chromium, in the fonts that are installed: it asks for Inter and JetBrains Mono, and looks best
with them. --port: what the Server view shows; --seconds: how long the Monitor looks on before its picture is taken.
Pictures, no verdicts.
"""

import argparse
import re
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.bench._camera import Camera
from tests.bench._stage import LARGE, ROOT, held, served, switch, traffic, without_model
from tests.e2e.browser import origin, started_browser, wait_until
from tests.e2e.playground import answered, ask, cap
from tests.e2e.server import Server

ALL = ("light", "dark", "phone", "phone-dark")
PICTURES = {
    "first": ("light", "phone"),
    "chat": ALL,
    "palette": ("light", "phone"),
    "panel": ("dark",),
    "compare": ALL,
    "agents": ALL,
    "server": ALL,
    "monitor": ALL,
}
"""Of each view its pictures; <view>-<kind>.png is the file."""

# What the Monitor draws next is two seconds away at most.
SAMPLE_MS = 2600

# Earlier chats, each with the days since.
EARLIER = {
    "Name three sights of Lisbon.": 12,
    "Write a haiku about rain.": 9,
    "What is a prime number?": 1,
    "Suggest a name for a sailing boat.": 1,
    "Explain photosynthesis in one sentence.": 0,
    "What is the capital of Norway?": 0,
}
SCHEMA = '{"type": "object",\n "properties": {"city":\n   {"type": "string"}},\n "required": ["city"]}'
NOTE = """You are the harbour master and answer in one short sentence.

The harbour office is open from 8:00 to 17:00. A boat pays five crowns a night. Water is free, electricity is not. \
The crane needs a day's notice. Dogs are welcome on the quay, but not in the showers."""
TASKS = """When is the office open?
What does a boat pay?
Is water free?
May my dog come into the showers?
How do I get the crane?"""

AGE = """async (days) => {
  const { readNewest, save } = await import("/ui/store/conversations.js");
  for (const [at, kept] of (await readNewest(days.length)).entries()) {
    const ms = days[at] * 86_400_000;
    await save({ ...kept, created: kept.created - ms, updated: kept.updated - ms });
  }
}"""
LANES = """async () => {
  const { setForAll, vary } = await import("/ui/state/compare.js");
  setForAll("max_completion_tokens", 110);
  const lanes = [[0, 7], [0, 8], [0.3, 7], [0.5, 7], [0.3, 8], [0.5, 9], [0.5, 10], [0.5, 11]];
  vary(lanes.map(([temperature, seed]) => ({ temperature, seed })));
}"""
LIMITS = """async (system) => {
  const { set } = await import("/ui/state/agents.js");
  for (const [name, value] of Object.entries({ system, max_completion_tokens: 48, temperature: 0 })) set(name, value);
}"""
ALL_ANSWERED = """async () => {
  const { open } = await import("/ui/state/%s.js");
  return open.value.lanes.value.every((lane) => lane.turn.value && !lane.isRunning);
}"""


def go(page: Page, view: str, landmark: str) -> None:
    page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
    page.locator(landmark).first.wait_for()


def first_start(browser: Browser, server: Server, folder: Path) -> None:
    page = browser.new_context(reduced_motion="reduce").new_page()
    camera = Camera(page, folder)
    page.goto(f"{origin(server)}/ui/#/chat")
    expect(page.locator("#download")).to_be_enabled()
    camera.take("first", *PICTURES["first"])
    page.context.close()


def chat(page: Page, camera: Camera, server: Server) -> None:
    for question in EARLIER:
        page.click("#new-chat")
        cap(page, 30)
        ask(page, question)
        answered(page)
    page.evaluate(AGE, list(EARLIER.values())[::-1])
    page.reload()
    go(page, "chat/new", "#set-temperature")
    page.fill("#set-temperature", "0")
    page.press("#set-temperature", "Tab")
    ask(page, "Write a Python function that checks for a palindrome.")
    answered(page)
    expect(page.locator("figure.code code span").first).to_be_attached()
    ask(page, "And how would I test it?")
    under_way(page, camera, server)
    answered(page, 2)
    # That one was not as quick as it would have been.
    page.get_by_role("button", name="Regenerate").last.click()
    page.locator(".branches").wait_for()
    answered(page, 2)
    camera.take("chat", "dark")
    page.keyboard.press("Control+k")
    page.fill("#palette", "temp")
    camera.take("palette", "light")
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Schema").check()
    page.fill("#schema", SCHEMA)
    page.press("#schema", "Tab")
    page.fill("#search-chats", "reverse")
    page.locator(".hits mark").first.wait_for()
    page.locator(".context-bar").scroll_into_view_if_needed()
    camera.take("panel", "dark")
    page.fill("#search-chats", "")
    page.get_by_role("radio", name="Text").check()


def under_way(page: Page, camera: Camera, server: Server) -> None:
    """Takes the picture of a chat while its last answer streams: once words stand under its code."""
    running = page.locator(".turn.answer.running")
    expect(running).to_have_count(1)
    words, is_taken = "", False
    # A little at a time, so that it is held in its midst on a quick machine too; slower still where its end is near.
    while not is_taken:
        time.sleep(0.003 if "assert is" in words else 0.06)
        with held(server):
            page.wait_for_timeout(80)
            assert running.count() == 1, "it has ended before its picture was taken"
            words = running.inner_text().strip()
            if re.search(r"will print\b.*\w$", words, re.DOTALL):
                camera.take("chat", "light", wait_ms=1000)
                assert running.count() == page.locator("#stop").count() == 1, "it ended while its picture was taken"
                is_taken = True


def compare(page: Page, camera: Camera) -> None:
    go(page, "compare", "#run-all")
    page.fill("#prompt", "Why does bread rise? Answer in two or three sentences.")
    page.evaluate(LANES)
    # Again, so that the prompt comes from the cache.
    for _ in range(2):
        page.click("#run-all")
        wait_until(page, ALL_ANSWERED % "compare")
    camera.take("compare", "light", "dark")


def agents(page: Page, camera: Camera) -> None:
    go(page, "agents", "#run")
    page.evaluate(LIMITS, NOTE)
    page.fill("#prompt", TASKS)
    page.click("#run")
    wait_until(page, ALL_ANSWERED % "agents")
    page.locator(".task-table .name").first.click()
    camera.take("agents", "light", "dark")
    page.keyboard.press("Escape")


def server_view(page: Page, camera: Camera) -> None:
    go(page, "server", ".field-row")
    page.get_by_role("button", name=f"Download {LARGE}").click()
    for key, value in (("model.idle_unload", "1200"), ("model.decode_share", "40")):
        page.fill("#find-field", key)
        page.fill(f"[data-key='{key}'] input", value)
        page.keyboard.press("Tab")
    page.fill("#find-field", "")
    page.locator(".groups button", has_text="model").click()
    page.wait_for_timeout(5000)
    camera.take("server", "light", "dark")


def on_a_phone(page: Page, camera: Camera) -> None:
    """All views once more, as they stand."""
    camera.aim("phone")
    go(page, "chat", ".transcript")
    page.wait_for_timeout(400)
    camera.aim("phone")
    page.keyboard.press("Home")
    camera.take("chat", "phone", "phone-dark")
    page.keyboard.press("Control+k")
    page.fill("#palette", "temp")
    camera.take("palette", "phone")
    page.keyboard.press("Escape")
    go(page, "compare", ".lane")
    camera.take("compare", "phone", "phone-dark")
    go(page, "agents", ".task-table")
    camera.take("agents", "phone", "phone-dark")
    go(page, "server/config/model.idle_unload", "[data-key='model.idle_unload']")
    camera.take("server", "phone", "phone-dark")
    go(page, "monitor", ".figures")
    camera.take("monitor", "phone", "phone-dark", wait_ms=SAMPLE_MS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "spec" / "guide")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seconds", type=float, default=310)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with started_browser("--font-render-hinting=none") as browser:
        with without_model(options.port) as server:
            first_start(browser, server, options.folder)
        take_all(browser, options)
    return 0


def take_all(browser: Browser, options: argparse.Namespace) -> None:
    """What a server with a model shows."""
    with served(options.port) as server:
        page = browser.new_context(reduced_motion="reduce").new_page()
        camera = Camera(page, options.folder)
        page.goto(f"{origin(server)}/ui/#/chat")
        chat(page, camera, server)
        looks_until = time.monotonic() + options.seconds
        compare(page, camera)
        agents(page, camera)
        with traffic(server):
            server_view(page, camera)
            switch(server)
            go(page, "monitor", ".figures")
            page.locator(".spans label").first.click()
            page.wait_for_timeout(1000 * max(0.0, looks_until - time.monotonic()))
            camera.take("monitor", "light", "dark", wait_ms=SAMPLE_MS)
            on_a_phone(page, camera)


if __name__ == "__main__":
    sys.exit(main())
