"""Text to token ids and back. `load_tokenizer` makes a Tokenizer from what a checkpoint holds."""

from ignis.tokenizer.loader import load_tokenizer
from ignis.tokenizer.tokenizer import ControlText, Tokenizer, without_surrogates

__all__ = ["ControlText", "Tokenizer", "load_tokenizer", "without_surrogates"]
