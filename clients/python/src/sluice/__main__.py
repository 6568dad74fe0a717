"""`python -m sluice` is the command `sluice`."""

import sys

from sluice.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
