"""Attacks a running server, and holds it to its promises: equal answers, clear ends, nothing left behind.

python3 -m tests.attack --seconds 90 --device cuda dist/ignis-server models/SmolLM2-135M-Instruct.Q4_1.gguf [flags]

Needs the standard library alone. Prints a line for each check; status 1 where one fails, 3 where the time ran out.
"""

import argparse
import os
import sys
import threading
import time
import traceback
from pathlib import Path

from tests.attack.attack import Attack
from tests.attack.card import CardAttack


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", default="", help="names of parts, with commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=Path, help="a folder for what the servers write")
    parser.add_argument("command", help="the executable; several words with spaces between")
    parser.add_argument("model", type=Path)
    parser.add_argument("flags", nargs=argparse.REMAINDER, help="further options of every server")
    arguments = parser.parse_args()
    # The servers run in folders of their own. What a link leads to would be a Python without its environment.
    words = [str(Path(word).absolute()) if "/" in word else word for word in arguments.command.split()]
    attack = (CardAttack if arguments.device == "cuda" else Attack)(
        words, arguments.model.resolve(), arguments.flags, arguments.logs, arguments.seed
    )
    end = time.monotonic() + arguments.seconds

    def ring() -> None:
        time.sleep(arguments.seconds + 25)
        print(f"FAIL time: not done in {attack.part} after {arguments.seconds + 25:.0f} s", flush=True)
        for number, frame in sys._current_frames().items():
            if number == main_thread:
                traceback.print_stack(frame, limit=8, file=sys.stdout)
        attack.kill_all()
        sys.stdout.flush()
        os._exit(3)

    main_thread = threading.get_ident()
    threading.Thread(target=ring, daemon=True).start()
    try:
        attack.run(end, [name for name in arguments.only.split(",") if name])
    finally:
        attack.kill_all()
    print(f"{attack.num_checks} checks, {attack.num_failed} failed, {time.monotonic() - end + arguments.seconds:.0f} s")
    return 1 if attack.num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
