"""Which web pages may use the API, and how a browser is told. A page's origin is scheme://host[:port], as in Origin.

Browsers alone send Origin, and let any page send requests to anywhere; what they guard is who may read the answers. So
a page that may not is refused, and one that may is told so. Without a list all may: the key decides, not the page.
"""

_EXPOSED = ("Access-Control-Expose-Headers", "X-Request-Id, X-Ignis-Ignored, Retry-After")


def may_use(origin: str | None, host: str, origins: frozenset[str] | None) -> bool:
    """Whether a request may be served. `host` is its Host header: the server's own pages always may.

    Args:
        origins: lower case; None: any.
    """
    if origin is None or origins is None or origin.lower() in origins:
        return True
    return origin.partition("://")[2].lower() == host.lower()


def cors(origin: str | None, origins: frozenset[str] | None) -> list[tuple[str, str]]:
    """The headers that let the scripts of a page read an answer, or that keep caches from mixing pages up."""
    if origins is None:
        return [("Access-Control-Allow-Origin", "*"), _EXPOSED]
    # The server's own pages need no leave to read.
    if origin is None or origin.lower() not in origins:
        return [("Vary", "Origin")]
    return [("Access-Control-Allow-Origin", origin), _EXPOSED, ("Vary", "Origin")]
