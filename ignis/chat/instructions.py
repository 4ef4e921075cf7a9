"""Where instructions stand: the policies for system and developer messages. It moves messages and refuses; no spelling.

                    leading run of system messages   a later system message    a developer message
    merge           one block, the system prompt     its own block, in place
    strict          one only, at index 0             refused
    inplace                                                                    its own block, where it stands
    into-system                                                                joined into the system prompt
    after-system                                                               all in one block after it
    one-after-system                                                           one, right after it, else refused
    reject                                                                     refused

Where a template takes no system message but the first, a later one is the user's, where it stands.

A developer message that leads the conversation is its system prompt, under every policy but reject. Texts that are
joined are trimmed and parted by a blank line, and empty ones are left out; a message that stands alone is kept to the
byte.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ignis.chat.content import text_of
from ignis.config_fields import ServerConfig
from ignis.errors import DeveloperMessagePositionError, SystemMessagePositionError

Spelled = dict[str, object]


class SystemPolicy(enum.Enum):
    MERGE = "merge"
    STRICT = "strict"


class DeveloperPolicy(enum.Enum):
    INPLACE = "inplace"
    INTO_SYSTEM = "into-system"
    AFTER_SYSTEM = "after-system"
    ONE_AFTER_SYSTEM = "one-after-system"
    REJECT = "reject"

    @property
    def moves_text(self) -> bool:
        """A message late in a conversation changes its beginning: nothing after that is found in the prefix cache."""
        return self in (DeveloperPolicy.INTO_SYSTEM, DeveloperPolicy.AFTER_SYSTEM)


@dataclass(frozen=True, slots=True)
class InstructionPolicies:
    system: SystemPolicy = SystemPolicy.MERGE
    developer: DeveloperPolicy = DeveloperPolicy.INPLACE

    @classmethod
    def from_config(cls, config: ServerConfig) -> Self:
        return cls(
            SystemPolicy(config.system_message_policy.value), DeveloperPolicy(config.developer_message_policy.value)
        )


def place_instructions(
    messages: Sequence[Spelled], policies: InstructionPolicies, *, has_developer: bool = False
) -> list[Spelled]:
    """Returns the messages with every instruction where its policy wants it. `has_developer`: the template has a role
    of its own for developer messages that stay where they are; else they are system messages.

    Raises:
        SystemMessagePositionError, DeveloperMessagePositionError: the policy refuses one, named by its place.
    """
    num_head = _head_length(messages)
    _check_places(messages, policies, num_head)
    head = [{**message, "role": "system"} for message in messages[:num_head]]
    rest = list(messages[num_head:])
    if policies.developer.moves_text:
        moved = [{**message, "role": "system"} for message in rest if message["role"] == "developer"]
        rest = [message for message in rest if message["role"] != "developer"]
        if policies.developer is DeveloperPolicy.INTO_SYSTEM:
            head += moved
        else:
            rest = [*_joined(moved), *rest]
    if not has_developer:
        rest = [{**message, "role": "system"} if message["role"] == "developer" else message for message in rest]
    return [*_joined(head), *rest]


def late_as_user(messages: Sequence[Spelled]) -> list[Spelled]:
    """Makes user messages of the system messages after the first, for a template that takes none there. Each is joined
    with the user's own words beside it, by a blank line, so that the roles go on taking turns.
    """
    told: list[Spelled] = []
    was_late = False
    for index, message in enumerate(messages):
        is_late = index > 0 and message["role"] == "system"
        message = {**message, "role": "user"} if is_late else message
        if told and (is_late or was_late) and told[-1]["role"] == message["role"] == "user":
            text = f"{text_of(told[-1]['content'])}\n\n{text_of(message['content'])}"
            told[-1] = {**told[-1], "content": text}
        else:
            told.append(message)
        was_late = is_late
    return told


def _head_length(messages: Sequence[Spelled]) -> int:
    """How many messages make the system prompt: a leading instruction and the system messages right after it."""
    if not messages or messages[0]["role"] not in ("system", "developer"):
        return 0
    return next((at for at in range(1, len(messages)) if messages[at]["role"] != "system"), len(messages))


def _check_places(messages: Sequence[Spelled], policies: InstructionPolicies, num_head: int) -> None:
    for index, message in enumerate(messages):
        name = f"messages[{index}]"
        if message["role"] == "system" and index > 0 and policies.system is SystemPolicy.STRICT:
            raise SystemMessagePositionError(
                f"{name} is a system message; server.system_message_policy strict allows one only, the first message",
                name,
            )
        if message["role"] != "developer":
            continue
        if policies.developer is DeveloperPolicy.REJECT:
            raise DeveloperMessagePositionError(
                f"{name} is a developer message; server.developer_message_policy reject allows none", name
            )
        # The one that leads is the system prompt; without a system prompt nothing is right after it.
        is_in_place = index == 0 or index == num_head > 0
        if policies.developer is DeveloperPolicy.ONE_AFTER_SYSTEM and not is_in_place:
            raise DeveloperMessagePositionError(
                f"{name} is a developer message; server.developer_message_policy one-after-system allows one only, "
                "right after the system prompt",
                name,
            )


def _joined(blocks: Sequence[Spelled]) -> list[Spelled]:
    """One block of several; no block of none."""
    if len(blocks) < 2:
        return list(blocks)
    texts = [text_of(block["content"]).strip() for block in blocks]
    return [{**blocks[0], "content": "\n\n".join(text for text in texts if text)}]
