"""Records how Hugging Face's transformers renders the conversations, into goldens.json beside this script.

pip install transformers jinja2
python tests/data/chat/record.py <template of SmolLM2-135M-Instruct, from tokenizer.chat_template of its GGUF file>
"""

import datetime
import json
import sys
from pathlib import Path

from transformers.utils import chat_template_utils

HERE = Path(__file__).parent
BOS, EOS = "<s>", "</s>"


class FixedTime(datetime.datetime):
    """The day that the goldens are rendered on."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "FixedTime":
        return cls(2026, 7, 4, 12, 0, tzinfo=tz)


def main(smollm2: str) -> None:
    chat_template_utils.datetime = FixedTime
    templates = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.jinja"))}
    templates["smollm2"] = Path(smollm2).read_text(encoding="utf-8")
    conversations = json.loads((HERE / "conversations.json").read_text(encoding="utf-8"))
    goldens: dict[str, dict[str, str]] = {}
    for name, source in templates.items():
        template = chat_template_utils._compile_jinja_template(source)
        goldens[name] = {}
        for conversation in conversations:
            try:
                text = template.render(
                    messages=conversation["messages"],
                    tools=conversation["tools"],
                    documents=None,
                    add_generation_prompt=True,
                    bos_token=BOS,
                    eos_token=EOS,
                )
            except Exception as error:
                text = f"raises: {error}"
            goldens[name][conversation["name"]] = text
    (HERE / "goldens.json").write_text(json.dumps(goldens, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
