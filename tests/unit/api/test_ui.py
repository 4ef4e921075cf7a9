"""Static files: types, caching, security headers, and no way out of the folder."""

import re
from pathlib import Path

import pytest

from ignis.api.ui import Page, StaticFiles
from ignis.errors import RouteNotFoundError
from ignis.exchange import IMMUTABLE
from tests.fakes.exchange import FakeAnswer, FakeExchange
from tests.unit.api.rig import Rig

# All that the page may do: what is from its own server, and pictures that a person put in.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "frame-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ui = tmp_path / "ui"
    (ui / "vendor").mkdir(parents=True)
    (ui / "index.html").write_text('<link rel="icon" href="vendor/icon.svg"><script src="app.js"></script>')
    (ui / "app.js").write_text("export {}")
    (ui / "style.css").write_text("a{}")
    (ui / "vendor" / "icon.svg").write_text("<svg/>")
    (ui / ".hidden.js").write_text("secret")
    (ui / "notes.py").write_text("secret")
    (tmp_path / "secret.js").write_text("secret")
    (ui / "link.js").symlink_to(tmp_path / "secret.js")
    return ui


async def get(served: Path | Page, path: str, **headers: str) -> FakeAnswer:
    exchange = FakeExchange("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    files = StaticFiles("/ui/", served) if isinstance(served, Path) else served
    await files.show(exchange)
    return exchange.answer


async def places(page: Page) -> list[str]:
    """Where index.html says that its files are."""
    answer = await get(page, "/ui/")
    assert (answer.content_type, answer.header("Cache-Control")) == ("text/html; charset=utf-8", "no-cache")
    return ["/ui/" + name for name in re.findall(r' (?:href|src)="([^"]+)"', answer.body.decode())]


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/ui/", "text/html; charset=utf-8"),
        ("/ui/index.html", "text/html; charset=utf-8"),
        ("/ui/app.js", "text/javascript; charset=utf-8"),
        ("/ui/style.css", "text/css; charset=utf-8"),
        ("/ui/vendor/icon.svg", "image/svg+xml"),
    ],
)
async def test_a_file_has_its_type_and_the_strict_headers(folder: Path, path: str, content_type: str) -> None:
    answer = await get(folder, path)
    assert (answer.status, answer.content_type) == (200, content_type)
    policy = (answer.header("Content-Security-Policy") or "").split("; ")
    assert dict(each.split(" ", 1) for each in policy) == POLICY
    assert answer.header("X-Content-Type-Options") == "nosniff"
    assert answer.header("Referrer-Policy") == "no-referrer"
    assert answer.header("Cross-Origin-Opener-Policy") == answer.header("Cross-Origin-Resource-Policy") == "same-origin"
    assert answer.header("Permissions-Policy") == "camera=(), microphone=(), geolocation=(), payment=(), usb=()"


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../secret.js",
        "/ui/vendor/../../secret.js",
        "/ui/..",
        "/ui/.",
        "/ui/.hidden.js",
        "/ui//etc/passwd",
        "/ui//app.js",
        "/ui/vendor\\..\\..\\secret.js",
        "/ui/app.js\0.html",
        "/ui/link.js",
        "/ui/notes.py",
        "/ui/vendor",
        "/ui/vendor/",
        "/ui/missing.js",
        "/ui/app.js/",
        "/ui/app.js/x.js",
        "/ui/" + "x" * 5000 + ".js",
        "/ui/" + "\N{GRINNING FACE}" * 150 + ".js",
        "/ui/\udcff.js",
        "/ui/%2e%2e/secret.js",
        "/ui/C:/secret.js",
    ],
)
async def test_nothing_else_is_served(folder: Path, path: str) -> None:
    with pytest.raises(RouteNotFoundError):
        await get(folder, path)


async def test_a_known_version_is_not_sent_again(folder: Path) -> None:
    tag = (await get(folder, "/ui/app.js")).header("ETag") or ""
    assert tag.startswith('"')
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = await get(folder, "/ui/app.js", If_None_Match=header)
        assert (answer.status, answer.body, answer.header("ETag")) == (304, b"", tag)
    assert (await get(folder, "/ui/app.js", If_None_Match='"other"')).status == 200
    (folder / "app.js").write_text("export const changed = 1")
    assert (await get(folder, "/ui/app.js", If_None_Match=tag)).status == 200


async def test_a_page_is_asked_for_each_time_and_its_files_never_again(folder: Path) -> None:
    page = Page("/ui/", folder)
    icon, script = await places(page)
    assert re.fullmatch(r"/ui/[0-9a-f]{12}/vendor/icon.svg", icon)
    for path, content_type in ((icon, "image/svg+xml"), (script, "text/javascript; charset=utf-8")):
        answer = await get(page, path)
        assert (answer.status, answer.content_type, answer.header("Cache-Control")) == (200, content_type, IMMUTABLE)
        assert "default-src 'none'" in (answer.header("Content-Security-Policy") or "")
        assert (await get(page, path, If_None_Match=answer.header("ETag") or "")).status == 304
    tag = (await get(page, "/ui/")).header("ETag") or ""
    assert (await get(page, "/ui/index.html", If_None_Match=tag)).status == 304


async def test_a_server_that_started_again_knows_the_files_of_an_open_page(folder: Path) -> None:
    _, script = await places(Page("/ui/", folder))
    assert (await get(Page("/ui/", folder), script)).body == b"export {}"


async def test_comments_of_the_pages_own_modules_stay_with_their_source(folder: Path) -> None:
    text = "/**\n * Why.\n */\nexport const a = 1; // what\n  // More.\n"
    (folder / "app.js").write_text(text)
    (folder / "vendor" / "library.js").write_text(text)
    page = Page("/ui/", folder)
    _, script = await places(page)
    assert (await get(page, script)).body == b"\n\n\nexport const a = 1; // what\n\n"
    assert (await get(page, script.replace("app.js", "vendor/library.js"))).body == text.encode()


async def test_an_open_page_gets_no_file_of_another_version(folder: Path) -> None:
    page = Page("/ui/", folder)
    _, script = await places(page)
    tag = (await get(page, "/ui/")).header("ETag") or ""
    (folder / "app.js").write_text("export const changed = 1")
    assert (await get(page, script)).body == b"export {}"
    assert (await get(page, "/ui/", If_None_Match=tag)).status == 200
    _, other = await places(page)
    assert (await get(page, other)).body == b"export const changed = 1"
    with pytest.raises(RouteNotFoundError):
        await get(page, script)


async def test_a_file_that_has_another_name_is_another_version(folder: Path) -> None:
    page = Page("/ui/", folder)
    icon, _ = await places(page)
    (folder / "style.css").rename(folder / "styles.css")
    assert (await places(page))[0] != icon


async def test_a_module_by_its_plain_name_is_the_pages_own(folder: Path) -> None:
    page = Page("/ui/", folder)
    _, script = await places(page)
    answer = await get(page, "/ui/app.js")
    assert (answer.body.decode(), answer.header("Cache-Control")) == (f'export * from "{script}";\n', "no-cache")
    (folder / "app.js").write_text("const x = 1;export{x as default}")
    _, script = await places(page)
    own = f'export * from "{script}";\nexport {{ default }} from "{script}";\n'
    assert (await get(page, "/ui/app.js")).body.decode() == own


@pytest.mark.parametrize(
    "name", ["../secret.js", ".hidden.js", "link.js", "notes.py", "vendor", "vendor/", "app.js/", ""]
)
async def test_nothing_else_is_served_under_a_hash(folder: Path, name: str) -> None:
    page = Page("/ui/", folder)
    _, script = await places(page)
    with pytest.raises(RouteNotFoundError):
        await get(page, script.replace("app.js", name))


async def test_paths_without_their_slash_lead_to_the_pages() -> None:
    rig = Rig()
    found = {}
    for path in ("/", "/ui", "/v1", "/v1/docs"):
        answer = await rig.answer("GET", path)
        found[path] = (answer.status, answer.header("Location"))
    assert found == {
        "/": (302, "/ui/"),
        "/ui": (302, "/ui/"),
        "/v1": (307, "/v1/docs/"),
        "/v1/docs": (307, "/v1/docs/"),
    }


async def test_without_the_page_only_the_reference_is_served() -> None:
    rig = Rig(has_ui=False)
    assert (await rig.answer("GET", "/ui/")).status == 404
    assert (await rig.answer("GET", "/")).status == 404
    assert (await rig.answer("GET", "/v1/docs/")).status == 200


@pytest.mark.parametrize("has_ui", [True, False])
async def test_all_that_the_reference_page_loads_is_there(has_ui: bool) -> None:
    rig = Rig(has_ui=has_ui)
    page = (await rig.answer("GET", "/v1/docs/")).body.decode()
    loaded = re.findall(r'<(?:link|script)\b[^>]* (?:href|src)="([^"]+)"', page)
    assert loaded == ["icon.svg", "docs.css", "docs.js"]
    assert [(await rig.answer("GET", f"/v1/docs/{name}")).status for name in loaded] == [200, 200, 200]


async def test_the_reference_page_names_no_other_host() -> None:
    rig = Rig()
    for name in ("", "docs.css", "docs.js"):
        answer = await rig.answer("GET", f"/v1/docs/{name}")
        assert answer.status == 200
        for line in answer.body.decode().splitlines():
            assert "://" not in line.replace("http://www.w3.org/2000/svg", "")
