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
    return (
        f"the answer was cut off, because another model was asked for and {_granted(drain_timeout_s)}; sent again with "
        "its model's name, the request has that one loaded and is answered"
    )


def reloaded(drain_timeout_s: float) -> str:
    """Of an answer that its own model's other settings did not wait for."""
    return (
        f"the answer was cut off, because its model is loaded anew by other settings and {_granted(drain_timeout_s)}; "
        "sent again, the request is answered"
    )


def unloaded(drain_timeout_s: float) -> str:
    """Of an answer whose model was sent away."""
    return (
        f"the answer was cut off, because its model was unloaded by order and {_granted(drain_timeout_s)}; sent again, "
        "the request has it loaded and is answered"
    )


def _granted(drain_timeout_s: float) -> str:
    return f"running answers had {drain_timeout_s:g} s to end"
