"""`python -m ignis`, the command and the executable."""

import os
import signal
import sys
import threading

_is_ours = (
    signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # No other thread may say what a signal does.
    and threading.current_thread() is threading.main_thread()
)
if _is_ours:
    # Ctrl-C while the rest is imported, which nobody could catch: in the middle of compiled code it is another error.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

from ignis.cli import main  # noqa: E402

if _is_ours:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if __name__ == "__main__":
    sys.exit(main())
