"""Rules of reading a request that need no socket."""

import pytest

from ignis.errors import InvalidRequestError, RequestError
from ignis.server.answer import Framing
from ignis.server.http11 import RequestHead, RequestReader


def read(request: bytes) -> RequestHead:
    reader = RequestReader(32 << 10)
    reader.feed(request)
    head = reader.next_head()
    assert head is not None
    return head


def get(target: str, *fields: str) -> RequestHead:
    return read("\r\n".join([f"GET {target} HTTP/1.1", "host: a", *fields, "", ""]).encode())


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/", "/", {}),
        ("/a%20b/%E2%82%AC", "/a b/€", {}),
        ("/a%2Fb", "/a/b", {}),
        ("//a/..", "//a/..", {}),
        ("/a?", "/a", {}),
        ("/a?b", "/a", {"b": ""}),
        ("/a?b=1&b=2&c=%26", "/a", {"b": "2", "c": "&"}),
        ("/a?b=c+d%2B", "/a", {"b": "c d+"}),
        ("/a?b=c=d?", "/a", {"b": "c=d?"}),
        ("/a?&&=1", "/a", {"": "1"}),
        ("http://host", "/", {}),
        ("HTTPS://host:1/a?b=c", "/a", {"b": "c"}),
        ("http://host?b=c", "/", {"b": "c"}),
    ],
)
def test_a_target_is_split_and_decoded(target: str, path: str, query: dict[str, str]) -> None:
    head = get(target)
    assert (head.path, head.query) == (path, query)


def test_names_are_lowered_and_repeated_fields_joined() -> None:
    assert get("/", "Accept: a", "ACCEPT: b").headers == {"host": "a", "accept": "a, b"}


def test_a_value_is_latin_1() -> None:
    assert read(b"GET / HTTP/1.1\r\nhost: a\r\nx: \xe9\r\n\r\n").headers["x"] == "é"


@pytest.mark.parametrize("offered", ["a", "7f3c-11", "trace/1:2_3.4=+", "x" * 128])
def test_a_sane_request_id_is_kept(offered: str) -> None:
    assert get("/", f"x-request-id: {offered}").request_id == offered


@pytest.mark.parametrize("offered", ["", "a b", "-a", "é", 'a"', "a,b", "x" * 129])
def test_another_request_id_is_replaced(offered: str) -> None:
    assert get("/", f"x-request-id: {offered}").request_id.startswith("req-")


@pytest.mark.parametrize(
    ("version", "fields", "keeps_alive", "framing"),
    [
        ("1.1", "", True, Framing.CHUNKED),
        ("1.1", "connection: keep-alive\r\n", True, Framing.CHUNKED),
        ("1.1", "connection: Upgrade, Close\r\n", False, Framing.CHUNKED),
        ("1.0", "", False, Framing.CLOSE),
        ("1.0", "connection: keep-alive\r\n", False, Framing.CLOSE),
        ("1.2", "", True, Framing.CHUNKED),
    ],
)
def test_what_follows_an_answer_depends_on_version_and_connection(
    version: str, fields: str, keeps_alive: bool, framing: Framing
) -> None:
    head = read(f"GET / HTTP/{version}\r\nhost: a\r\n{fields}\r\n".encode())
    assert (head.keeps_alive, head.framing) == (keeps_alive, framing)


def test_a_reader_goes_from_request_to_request() -> None:
    reader = RequestReader(1024)
    reader.feed(b"\r\nPOST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi\r\n\nGET /b HTTP/1.1\r\n")
    assert [head.path if (head := reader.next_head()) else None] == ["/a"]
    assert reader.take_body() == b"hi"
    assert reader.is_body_complete
    reader.start_next()
    assert reader.has_begun
    assert reader.next_head() is None
    reader.feed(b"host: a\r\n\r\n")
    head = reader.next_head()
    assert head is not None
    assert head.path == "/b"
    assert reader.take_body() == b""
    reader.start_next()
    assert not reader.has_begun


def test_a_body_comes_in_the_parts_that_arrived() -> None:
    reader = RequestReader(1024)
    reader.feed(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\nc")
    reader.next_head()
    assert reader.take_body() == b"abc"
    assert not reader.is_body_complete
    reader.feed(b"de\r\n0\r\n\r\n")
    assert reader.take_body() == b"de"
    assert reader.is_body_complete


def test_a_fault_ends_the_reader() -> None:
    reader = RequestReader(1024)
    reader.feed(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nno\r\n")
    reader.next_head()
    with pytest.raises(InvalidRequestError, match=r"illegal chunk header$"):
        reader.take_body()
    assert reader.is_broken


def test_no_message_quotes_the_client() -> None:
    with pytest.raises(RequestError) as raised:
        read(b"\x1b[31mGET\x07 / HTTP/1.1\r\n\r\n")
    assert raised.value.message == "the request is malformed: illegal request line"
