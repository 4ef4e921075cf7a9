"""The types that GGUF and SentencePiece give to tokens; both use the same numbers."""

import enum


class TokenType(enum.IntEnum):
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6
