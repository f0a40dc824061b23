"""From a profile to one bottleneck with its evidence, and the moves that address it. Pure."""

from kernelwright.diagnosis.diagnose import diagnose, diagnoses, furthest
from kernelwright.diagnosis.moves import MOVES, Move, move, moves_against

__all__ = ["MOVES", "Move", "diagnose", "diagnoses", "furthest", "move", "moves_against"]
