"""How a stored element type cuts a row into blocks. Owns sizes only; the values' layout is cuda/quant's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """Values are stored in blocks of consecutive values of a row; a row holds whole blocks."""

    name: str
    number: int
    """As GGUF and ignis_step.h number it."""
    values: int
    """In a block."""
    size_bytes: int
    """Of a block."""

    def row_bytes(self, num_values: int) -> int | None:
        """Bytes of a row, or None where the row does not hold whole blocks."""
        num_blocks, rest = divmod(num_values, self.values)
        return None if rest else num_blocks * self.size_bytes
