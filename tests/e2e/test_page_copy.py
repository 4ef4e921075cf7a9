"""Copying works where the page is no secure context: over plain HTTP, on an address of the network."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.browser import CHROMIUM, opened_page
from tests.e2e.playground import answered, ask, cap, open_page
from tests.e2e.server import Server
from tests.e2e.test_page_turns import keep
from tests.ports import free_port

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

TEXT = """A **bold** word.

- one
- two
  1. inner

| a | b |
|---|---|
| 1 | 2 |

```python
x = 1
```
"""
PLAIN = "A bold word.\n\n- one\n- two\n  1. inner\n\na\tb\n1\t2\n\nx = 1\n"


def own_address() -> str:
    """An address of this machine that is not the loopback's; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address beside the loopback's")
        return str(probe.getsockname()[0])


@pytest.fixture
def page(browser: Browser, start_server: Callable[..., Server]) -> Iterator[Page]:
    address, port = own_address(), free_port()
    with (
        start_server(also_bind=[f"{address}:{port}"]),
        # Which the browser keeps only where it trusts the origin, and says so.
        opened_page(
            browser, f"http://{address}:{port}", known="Cross-Origin-Opener-Policy header has been ignored"
        ) as opened,
    ):
        yield opened


def paste(page: Page, text: str) -> None:
    """That is what is pasted."""
    page.fill("#prompt", "")
    page.focus("#prompt")
    page.keyboard.press("Control+V")
    expect(page.locator("#prompt")).to_have_value(text)


def test_text_and_code_are_copied_over_plain_http(page: Page) -> None:
    assert page.evaluate("[isSecureContext, navigator.clipboard]") == [False, None]
    keep(page, {"text": TEXT})
    page.click(".turn.answer .take")
    expect(page.locator(".said-copied")).to_have_text("Copied")
    paste(page, TEXT)
    page.click("figure.code .copy")
    expect(page.locator("figure.code .copy")).to_have_text("Copied")
    paste(page, "x = 1\n")
    # What is said of the first copy would else be taken for the third's.
    expect(page.locator(".said-copied")).to_have_text("")
    page.click("[aria-label='More of this answer']")
    page.get_by_role("menuitem", name="Copy as plain text").click()
    expect(page.locator(".said-copied")).to_have_text("Copied")
    paste(page, PLAIN)
    # The label of a button goes back, and its width was there before.
    expect(page.locator("figure.code .copy")).to_have_text("Copy")


def test_the_copied_curl_python_and_javascript_give_the_same_answer(context: BrowserContext, server: Server) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page(context, server.port)
    page.fill("#system", 'It\'s "quoted"; `$HOME` \\ stays.')
    cap(page, 24)
    page.fill("#set-temperature", "0.9")
    ask(page, "What's in 'a' \"b\" $PATH \\n, Köln €?\u2028!")
    answered(page)
    said = page.evaluate("async () => (await import('/ui/state/tree.js')).path.value[1].record.text")
    assert said
    page.click("#tab-raw")

    def copied(name: str) -> str:
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".panel [role=status]")).to_have_text(f"Copied as {name}")
        return str(page.evaluate("navigator.clipboard.readText()"))

    done = subprocess.run([sys.executable, "-c", copied("Python")], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{said}\n", done.stderr
    if shutil.which("node"):
        # A module, as its first await stands in no function.
        script = ["node", "--input-type=module", "-e", copied("JavaScript")]
        done = subprocess.run(script, capture_output=True, text=True, timeout=60)
        assert done.stdout == f"{said}\n", done.stderr
    if shutil.which("curl"):
        done = subprocess.run(["bash", "-c", copied("curl")], capture_output=True, text=True, timeout=60)
        assert json.loads(done.stdout)["choices"][0]["message"]["content"] == said, done.stdout
