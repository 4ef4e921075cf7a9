"""The spellings of tokens that end a turn."""

END_SPELLINGS = frozenset(
    {
        "<|im_end|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|end|>",
        "<end_of_turn>",
        "<end_of_utterance>",
        "<EOT>",
        "</s>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    }
)
"""A control token spelled so ends the turn, whatever a file calls eos: files name one id, chat models have several."""
