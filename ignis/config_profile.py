"""Profiles: sets of values by card, of ours or of the operator's file. Looks for the card where it is told to."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ignis.config_fields import CARDS, PROFILES
from ignis.config_file import read_document
from ignis.config_slots import Given, Origin, Source
from ignis.config_values import join_words, nearest
from ignis.errors import ConfigError

AUTO = "auto"
NO_CARD = "cpu"
"""What `auto` means where there is no card."""
_DRIVER = Path("/proc/driver/nvidia/gpus")
_MODEL = re.compile(r"^Model:\s*(.+?)\s*$", re.MULTILINE)


def read_profile(
    name: str | None, own: Mapping[str, Mapping[str, Any]], folder: Path, driver: Path = _DRIVER
) -> tuple[str | None, dict[str, Given]]:
    """Returns a profile's name and its values: one of the file's, else a built-in one. `auto` is the one of the card,
    or none where there is none for it.

    Args:
        own: the file's, by name.
        folder: of relative paths.
        driver: where the card's driver tells of the cards.

    Raises:
        ConfigError: there is none of that name, the name is no text, or it names what is unknown.
    """
    if name == AUTO and AUTO not in own:
        name = profile_of_card(driver)
    if name is None:
        return None, {}
    if name != name.encode(errors="replace").decode():
        # Whoever asks where the values came from could not be told.
        raise ConfigError(f"profile {name!r} is not taken: its name is not UTF-8", "profile")
    document = own.get(name, PROFILES.get(name))
    if document is None:
        known = [AUTO, *own, *(profile for profile in PROFILES if profile not in own)]
        raise ConfigError(f"unknown profile {name!r}{nearest(name, known)}; there are {join_words(known)}", "profile")
    where = f"profile {name}"
    values = read_document(
        document, f"{where}: ", lambda slot: Origin(Source.PROFILE, f"{slot.key} of {where}"), folder
    )
    return name, values


def profile_of_card(driver: Path = _DRIVER) -> str | None:
    """Returns the name of the first card's profile; None where the card needs none. Opens no device."""
    found = sorted(driver.glob("*/information"))
    if not found:
        return NO_CARD
    try:
        match = _MODEL.search(found[0].read_text(encoding="utf-8", errors="replace"))
    except OSError:
        # The driver is there and does not say: it is a card like any other.
        return None
    model = match[1] if match else ""
    return next((profile for card, profile in CARDS.items() if re.search(rf"\b{re.escape(card)}\b", model)), None)
