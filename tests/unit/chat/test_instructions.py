"""Where system and developer messages go: each policy, and what it refuses."""

from typing import Any

import pytest

from ignis.chat.instructions import (
    DeveloperPolicy,
    InstructionPolicies,
    SystemPolicy,
    late_as_user,
    place_instructions,
)
from ignis.errors import DeveloperMessagePositionError, SystemMessagePositionError

ROLES = {"s": "system", "d": "developer", "u": "user", "a": "assistant"}


def conversation(spelled: str) -> list[dict[str, Any]]:
    """`s1 u2`: a system message "1", then the user's "2"."""
    return [{"role": ROLES[word[0]], "content": word[1:]} for word in spelled.split()]


def placed(spelled: str, developer: DeveloperPolicy = DeveloperPolicy.INPLACE, *, is_strict: bool = False) -> str:
    system = SystemPolicy.STRICT if is_strict else SystemPolicy.MERGE
    rows = place_instructions(conversation(spelled), InstructionPolicies(system, developer))
    return " ".join(f"{row['role'][0]}{str(row['content']).replace(chr(10), '/')}" for row in rows)  # type: ignore[index]


@pytest.mark.parametrize(
    ("policy", "given", "expected"),
    [
        (DeveloperPolicy.INPLACE, "s1 u2 d3 u4", "s1 u2 s3 u4"),
        (DeveloperPolicy.INPLACE, "s1 s2 d3 u4", "s1//2 s3 u4"),
        (DeveloperPolicy.INPLACE, "d1 d2 u3", "s1 s2 u3"),
        (DeveloperPolicy.INPLACE, "d1 s2 u3", "s1//2 u3"),
        (DeveloperPolicy.INPLACE, "u1 s2 u3", "u1 s2 u3"),
        (DeveloperPolicy.INTO_SYSTEM, "s1 u2 d3 a4 d5", "s1//3//5 u2 a4"),
        (DeveloperPolicy.INTO_SYSTEM, "u1 d2", "s2 u1"),
        (DeveloperPolicy.INTO_SYSTEM, "s1 u2 s3 d4", "s1//4 u2 s3"),
        (DeveloperPolicy.AFTER_SYSTEM, "s1 u2 d3 a4 d5", "s1 s3//5 u2 a4"),
        (DeveloperPolicy.AFTER_SYSTEM, "d1 u2 d3", "s1 s3 u2"),
        (DeveloperPolicy.AFTER_SYSTEM, "u1 d2", "s2 u1"),
        (DeveloperPolicy.ONE_AFTER_SYSTEM, "s1 s2 d3 u4", "s1//2 s3 u4"),
        (DeveloperPolicy.ONE_AFTER_SYSTEM, "d1 d2 u3", "s1 s2 u3"),
        (DeveloperPolicy.ONE_AFTER_SYSTEM, "d1 u2", "s1 u2"),
        (DeveloperPolicy.REJECT, "s1 u2", "s1 u2"),
    ],
)
def test_each_policy_has_its_place_for_a_developer_message(policy: DeveloperPolicy, given: str, expected: str) -> None:
    assert placed(given, policy) == expected


@pytest.mark.parametrize(
    ("policy", "given", "index"),
    [
        (DeveloperPolicy.ONE_AFTER_SYSTEM, "s1 u2 d3", 2),
        (DeveloperPolicy.ONE_AFTER_SYSTEM, "s1 d2 d3 u4", 2),
        (DeveloperPolicy.ONE_AFTER_SYSTEM, "u1 d2", 1),
        (DeveloperPolicy.REJECT, "d1 u2", 0),
        (DeveloperPolicy.REJECT, "s1 u2 d3", 2),
    ],
)
def test_a_developer_message_out_of_place_is_refused_where_it_stands(
    policy: DeveloperPolicy, given: str, index: int
) -> None:
    with pytest.raises(DeveloperMessagePositionError, match=policy.value) as caught:
        placed(given, policy)
    assert caught.value.param == f"messages[{index}]"


@pytest.mark.parametrize(("given", "index"), [("s1 s2 u3", 1), ("u1 s2", 1), ("d1 s2", 1), ("s1 u2 s3", 2)])
def test_strict_takes_a_system_message_as_the_first_one_only(given: str, index: int) -> None:
    with pytest.raises(SystemMessagePositionError) as caught:
        placed(given, is_strict=True)
    assert caught.value.param == f"messages[{index}]"


def test_strict_lets_the_rest_be() -> None:
    assert placed("s1 u2 d3", is_strict=True) == "s1 u2 s3"


@pytest.mark.parametrize("policy", DeveloperPolicy)
def test_a_single_message_is_kept_to_the_byte(policy: DeveloperPolicy) -> None:
    alone = [{"role": "system", "content": "  a\n\n"}, {"role": "user", "content": "b "}]
    assert place_instructions(alone, InstructionPolicies(developer=policy)) == alone


def test_joined_texts_are_trimmed_and_empty_ones_left_out() -> None:
    rows = place_instructions(
        [{"role": "system", "content": text} for text in (" a\n", "", "\n", "b ")], InstructionPolicies()
    )
    assert rows == [{"role": "system", "content": "a\n\nb"}]


def test_parts_are_joined_with_their_lines() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    rows = place_instructions(
        [{"role": "system", "content": parts}, {"role": "system", "content": "c"}], InstructionPolicies()
    )
    assert rows == [{"role": "system", "content": "a\nb\n\nc"}]


def test_a_template_with_the_role_keeps_it_for_messages_that_stay() -> None:
    for policy, roles in (
        (DeveloperPolicy.INPLACE, ["system", "user", "developer"]),
        (DeveloperPolicy.INTO_SYSTEM, ["system", "user"]),
    ):
        rows = place_instructions(conversation("s1 u2 d3"), InstructionPolicies(developer=policy), has_developer=True)
        assert [row["role"] for row in rows] == roles


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("s1 u2 a3 u4", "s1 u2 a3 u4"),
        ("s1 u2 s3 a4 u5", "s1 u2//3 a4 u5"),
        ("s1 u2 a3 s4 u5", "s1 u2 a3 u4//5"),
        ("u1 s2 s3 u4 a5", "u1//2//3//4 a5"),
        ("u1 a2 s3", "u1 a2 u3"),
        ("u1 u2 a3", "u1 u2 a3"),
    ],
)
def test_a_late_system_message_joins_the_users_words_for_a_template_that_takes_none(given: str, expected: str) -> None:
    rows = late_as_user(conversation(given))
    assert " ".join(f"{row['role'][0]}{str(row['content']).replace(chr(10), '/')}" for row in rows) == expected  # type: ignore[index]
