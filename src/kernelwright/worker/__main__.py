"""Entry point of `python -m kernelwright.worker`."""

from kernelwright.worker.supervisor import main

main()
