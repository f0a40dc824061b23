"""Bottleneck diagnosis: from a profile to one bottleneck with its evidence, and the moves against it. Pure."""

from kernelwright.diagnosis.diagnose import diagnose, diagnoses, furthest
from kernelwright.diagnosis.moves import MOVES, Move, fitting, move, moves_against
from kernelwright.diagnosis.traits import Trait, traits
