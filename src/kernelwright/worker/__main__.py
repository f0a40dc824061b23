"""`python -m kernelwright.worker`."""

import sys

from kernelwright.worker.supervisor import main

sys.exit(main())
