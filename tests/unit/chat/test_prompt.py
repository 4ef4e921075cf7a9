"""From messages to ids."""

from ignis.chat.prompt import build_prompt
from ignis.chat.render import ChatTemplate, prompt_text
from ignis.tokenizer import Tokenizer
from tests.fakes.vocabulary import byte_tokenizer

BOS = 256


def prompt(source: str, tokenizer: Tokenizer, content: str = "hi") -> tuple[int, ...]:
    return build_prompt(tokenizer, ChatTemplate(source, tokenizer), [{"role": "user", "content": content}])


def test_bos_stands_first_where_the_vocabulary_wants_it() -> None:
    wants, does_not = (byte_tokenizer(["<s>"], bos="<s>", adds_bos=adds) for adds in (True, False))
    assert prompt("{{ messages[0].content }}", wants) == (BOS, *b"hi")
    assert prompt("{{ messages[0].content }}", does_not) == tuple(b"hi")


def test_bos_of_the_template_is_the_only_one() -> None:
    tokenizer = byte_tokenizer(["<s>"], bos="<s>", adds_bos=True)
    assert prompt("{{ bos_token }}{{ messages[0].content }}", tokenizer) == (BOS, *b"hi")


def test_bos_typed_by_a_user_is_not_the_one_that_is_wanted() -> None:
    tokenizer = byte_tokenizer(["<s>"], bos="<s>", adds_bos=True)
    assert prompt("{{ messages[0].content }}", tokenizer, "<s>") == (BOS, *b"<s>")


def test_text_is_encoded_as_one_run_across_the_borders_of_messages() -> None:
    tokenizer = byte_tokenizer(["<|end|>"], user_defined=["ab"])
    assert prompt("a{{ messages[0].content }}<|end|>", tokenizer, "b") == (257, 256)


def test_without_special_spellings_the_ids_are_those_of_the_flat_text() -> None:
    tokenizer = byte_tokenizer(["<|im_start|>", "<|im_end|>"], user_defined=["<think>"])
    source = "<|im_start|>{{ messages[0].content }}<|im_end|>\n<|im_start|>"
    template = ChatTemplate(source, tokenizer)
    messages = [{"role": "user", "content": "if a<b: <think> x[0] |> e\u0301"}]
    flat = prompt_text(template.render(messages))
    assert list(build_prompt(tokenizer, template, messages)) == tokenizer.encode(flat, allow_special=True)
