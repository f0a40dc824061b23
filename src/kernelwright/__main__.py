"""`python -m kernelwright`: the command line, for environments whose `kernelwright` script is not on PATH."""

from kernelwright.cli.main import main

if __name__ == "__main__":
    main()
