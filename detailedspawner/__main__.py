"""`python -m detailedspawner`: explains pods and checks installations."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
