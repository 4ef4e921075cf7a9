"""Prints how soon the Playground is there: first contentful paint, and when its composer can be used.

    python -m tests.bench.bench_start URL [--rounds 9]

URL is that of a running server's page. Each round is a browser context that was never there before, so that nothing is
in its cache; then the same page once more in it, as a person comes back. Medians are printed, beside the lowest and the
highest.
"""

import argparse
import shutil
import statistics

from playwright.sync_api import Browser, sync_playwright

TIMES = """() => new Promise((resolve) => {
  const usable = performance.getEntriesByName("usable")[0].startTime;
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint) resolve({ paint: paint.startTime, usable, asked: performance.getEntriesByType("resource")
      .filter(({ startTime, transferSize }) => startTime < usable && transferSize).length });
  }).observe({ type: "paint", buffered: true });
})"""


def measure(browser: Browser, url: str) -> list[dict[str, float]]:
    """Returns the times of the first start of a context, and of the second."""
    context = browser.new_context()
    times: list[dict[str, float]] = []
    for _ in range(2):
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector("#prompt")
        times.append(page.evaluate(TIMES))
        page.close()
    context.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        # The first page of a browser also starts its processes.
        measure(browser, options.url)
        rounds = [measure(browser, options.url) for _ in range(options.rounds)]
        browser.close()
    for at, start in enumerate(("first", "again")):
        for name, text in (("paint", "first contentful paint"), ("usable", "composer usable")):
            values = sorted(each[at][name] for each in rounds)
            print(f"{start}: {text}: median {statistics.median(values):.0f} ms, {values[0]:.0f} to {values[-1]:.0f}")
        print(f"{start}: requests until then: {max(each[at]['asked'] for each in rounds):.0f}")


if __name__ == "__main__":
    main()
