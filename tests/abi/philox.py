"""Philox4x32-10 in plain Python, and the uniform number that a draw is made from."""

MASK = 0xFFFFFFFF


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK, (a >> 32) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def uniform(seed: int, position: int) -> float:
    """In [0, 1): 53 bits at key (seed low, seed high), counter (position, purpose 0, 0, 0)."""
    words = philox((position, 0, 0, 0), (seed & MASK, seed >> 32))
    return float((words[0] << 21) | (words[1] >> 11)) * 2.0**-53
