"""`python -m policysched`."""

from __future__ import annotations

import sys

from policysched.cli import main

if __name__ == "__main__":
    sys.exit(main.main())
