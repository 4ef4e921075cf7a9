"""The content of a message: a string, or a list of text parts."""


def text_of(content: object) -> str:
    """All of it as one text: parts are joined by a line break."""
    if isinstance(content, list | tuple):
        return "\n".join(str(part["text"]) for part in content)
    return str(content)
