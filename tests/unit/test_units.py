"""Sizes as a person reads them, and that every place says the same of the default model."""

import re
from pathlib import Path

import pytest

from ignis.catalog import load_catalog
from ignis.units import shown_file_size

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (98_362_432, "98 MB"),
        (999_400_000, "999 MB"),
        (999_600_000, "1.0 GB"),
        (19_400_000_000, "19.4 GB"),
        (123_456_000_000, "123 GB"),
        (10**16, "10000 TB"),
    ],
)
def test_a_size_of_files_is_written_as_the_page_writes_it(size_bytes: int, text: str) -> None:
    assert shown_file_size(size_bytes) == text


def test_the_readme_says_the_size_of_the_default_model_as_the_catalog_has_it() -> None:
    catalog = load_catalog()
    size = shown_file_size(catalog.models[catalog.default].size_bytes)
    texts = [file.read_text() for file in (ROOT / "README.md", *sorted((ROOT / "spec" / "guide").glob("*.md")))]
    told = [found for text in texts for found in re.findall(r"small model \(([^)]*)\)", text)]
    assert told and set(told) == {size}
