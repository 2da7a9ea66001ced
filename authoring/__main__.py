"""`python -m authoring COMMAND`."""

import sys

from .course import main

sys.exit(main())
