"""The configuration of a server that runs: what is in effect, and what is changed of it."""

from ignis.config import Config


class RunningConfig:
    """Belongs to the event loop's thread."""

    def __init__(self, config: Config) -> None:
        self.config = config
        """What is in effect."""
