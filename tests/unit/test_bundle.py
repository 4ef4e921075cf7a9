"""A folder's digest tells one state from another."""

from pathlib import Path

from ignis.bundle import digest


def test_a_digest_changes_with_a_name_a_content_or_a_border_between_files(tmp_path: Path) -> None:
    def made(**files: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        (folder / "inner").mkdir(parents=True)
        for name, text in files.items():
            (folder / "inner" / name).write_text(text)
        return digest(folder)

    assert made(a="one") == made(a="one")
    assert len({made(a="one"), made(b="one"), made(a="two"), made(a="one", b=""), made(a="on", b="e"), made()}) == 6
