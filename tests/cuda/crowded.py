"""Looks for a card that is full, waits for a line, and loads a model: prints the status of each."""

import sys

from tests.abi import leaf
from tests.cuda import card
from tests.models import tiny


def main() -> None:
    library = card.cuda()
    status, _ = card.probe(library)
    print(f"probe: status {status} {library.ignis_last_error().decode()}", flush=True)
    sys.stdin.readline()
    weights = tiny.make(tiny.WIDE).weights()
    try:
        with leaf.Model(weights, leaf.load_params(weights, kv_dtype=leaf.F16), library) as model:
            model.prefill([1, 2, 3], [0])
    except leaf.LeafError as error:
        print("load:", error)
    else:
        print("load: status 0")


if __name__ == "__main__":
    main()
