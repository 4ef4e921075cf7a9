"""The heads of an attention layer, as both kinds of files declare them: how many, on how many keys, of which size."""

from dataclasses import dataclass

from ignis.models.fields import Fields

MAX_HEAD_DIM = 4096
"""Far above any model's; a table of frequencies is made of it before a tensor has been looked at."""


@dataclass(frozen=True, slots=True)
class Heads:
    num_heads: int
    num_kv_heads: int
    """Divides num_heads."""
    head_dim: int
    """Even."""


def read_heads(fields: Fields, hidden_size: int, heads: str, kv_heads: str, head_dim: str) -> Heads:
    """Reads the fields of these names. Absent key heads are as many as heads; absent head_dim shares hidden_size out.

    Raises:
        ModelFileError: a field is of the wrong type or out of range, or they do not fit each other.
    """
    num_heads = fields.required_integer(heads)
    num_kv_heads = fields.integer(kv_heads) or num_heads
    if num_heads % num_kv_heads:
        raise fields.refused(kv_heads, f"is {num_kv_heads}, which does not divide {num_heads} heads")
    dim = fields.integer(head_dim, high=MAX_HEAD_DIM)
    if dim is None:
        dim, rest = divmod(hidden_size, num_heads)
        if rest or dim > MAX_HEAD_DIM:
            raise fields.refused(
                head_dim, f"is missing, and {hidden_size} is not {num_heads} heads of at most {MAX_HEAD_DIM} dims"
            )
    if dim % 2:
        raise fields.refused(head_dim, f"is {dim}, an even number is expected")
    return Heads(num_heads, num_kv_heads, dim)
