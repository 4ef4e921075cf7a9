"""`python -m ignis` and the executable."""

import sys

from ignis.cli import main

if __name__ == "__main__":
    sys.exit(main())
