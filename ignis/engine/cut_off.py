"""What clients are told whose answer the engine cut off: the cause in a clause, and what they can do. Ends nothing."""

MODEL_FAILED = (
    "the answer was cut off, because the model failed while it was made; nothing is answered until the model is loaded "
    "anew (POST /v1/models/switch, or Retry in the Playground)"
)
LOOP_BROKE = (
    "the answer was cut off, because the server itself failed while it was made; nothing is answered until the server "
    "is started anew"
)


def switched(drain_timeout_s: float) -> str:
    """Of an answer that another model did not wait for."""
    return _drained(
        "another model was asked for",
        drain_timeout_s,
        "sent again with its model's name, the request has that one loaded and is answered",
    )


def reloaded(drain_timeout_s: float) -> str:
    """Of an answer that its own model's other settings did not wait for."""
    return _drained(
        "its model is loaded anew by other settings", drain_timeout_s, "sent again, the request is answered"
    )


def unloaded(drain_timeout_s: float) -> str:
    """Of an answer whose model was sent away."""
    return _drained(
        "its model was unloaded by order", drain_timeout_s, "sent again, the request has it loaded and is answered"
    )


def _drained(cause: str, drain_timeout_s: float, mend: str) -> str:
    return f"the answer was cut off, because {cause} and running answers had {drain_timeout_s:g} s to end; {mend}"
