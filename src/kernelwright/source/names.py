"""Names that are tunables, and the values they may take.

Names only: where a value comes from is `find.py`. A name with one of `NEVER_WORDS` is out whatever
else it says, because a wrong guess there changes the operation.
"""

from __future__ import annotations

import itertools
import re
from typing import Literal

from kernelwright.model import Record

TunableKind = Literal["num_warps", "num_stages", "constexpr", "autotune"]

AUTOTUNE = "autotune:"
"""Prefix of the config keys that choose among the configs of a kernel under `triton.autotune`."""


class Tunable(Record, frozen=True, kw_only=True):
    """One integer of a candidate's source that may take other values.

    key: `kernel.BLOCK`, `kernel.num_warps`, a constant's own name, or `autotune:kernel`; a second one of the same
    name in the file ends in `#2`. choices: ascending, the default among them. idle: another value changes nothing, as
    stages do where a kernel has no loop to pipeline.
    """

    key: str
    default: int
    choices: tuple[int, ...]
    kind: TunableKind
    idle: bool = False


PART_WORDS = ("BLOCK", "TILE")
"""Tunable anywhere within a word: BLOCK_M, XBLOCK, BLOCKSIZE, N_TILE."""

WHOLE_WORDS = frozenset(
    {"BM", "BN", "BK", "GROUP", "CHUNK", "CHUNKS", "SPLIT", "SPLITS", "SPLITK", "UNROLL", "WARPS", "STAGES"}
)
"""Tunable as a separate word: GROUP_M, NUM_SPLITS. Not STAGE: attention kernels choose a mask by it."""

PER_WORDS = frozenset({"BLOCK", "CTA", "ITER", "PROG", "PROGRAM", "SM", "STEP", "THREAD", "TILE", "WARP"})
"""Tunable after PER: ROWS_PER_PROGRAM. `ROWS` in front, and `ROWS_PER` or `COLS_PER`, count too."""

FLAGS = (("FLATTEN",), ("WARP", "SPECIALIZE"))
"""Names of switches, 0 or 1, that change how the compiler schedules a loop (`tl.range`)."""

SUBTILE_CHOICES = (1, 2, 4)
"""Parts in which a tile is stored; a kernel spells out each of them."""

NEVER_WORDS = frozenset(
    {
        "ACT",
        "ACTIVATION",
        "AXIS",
        "BITS",
        "CAUSAL",
        "CHANNEL",
        "CHANNELS",
        "DILATION",
        "DIM",
        "DIMS",
        "DMODEL",
        "DTYPE",
    }
    | {"EPS", "FEATURES", "GROUPS", "HEAD", "HEADS", "KERNEL", "KSIZE", "MODE", "NORM", "ORDER", "PAD", "PADDING"}
    | {"SCALE", "STRIDE", "STRIDES"}
)
"""Words of names that say what is computed, or how it lies in memory."""

DEFAULT_NUM_WARPS, DEFAULT_NUM_STAGES = 4, 3
"""What Triton uses on NVIDIA where a launch says nothing (`CUDAOptions`, Triton 3.5 to 3.8)."""

NUM_WARPS_CHOICES = (1, 2, 4, 8, 16)
NUM_STAGES_CHOICES = (1, 2, 3, 4, 5)
SMALLEST_DOT_SIDE = 16
"""`tl.dot` asks for at least 16 along each side (Triton's `semantic.dot`, for 16-bit operands)."""
LARGEST_BLOCK = 65536
"""The longest row that one program is expected to hold; Triton itself stops at 1048576 elements."""


def words_of(name: str) -> tuple[str, ...]:
    """`BLOCK_SIZE_M` and `blockSizeM` alike: BLOCK, SIZE, M."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return tuple(word.upper() for word in spaced.split("_") if word)


def is_tunable_name(name: str) -> bool:
    """Whether an integer of this name says how the work is cut up."""
    words = words_of(name)
    if is_never_name(name) or not words:
        return False
    if any(part in word for word in words for part in PART_WORDS) or WHOLE_WORDS.intersection(words):
        return True
    pairs = set(itertools.pairwise(words))
    return (
        words in FLAGS
        or words[0] == "ROWS"
        or ("COLS", "PER") in pairs
        or any(("PER", word) in pairs for word in PER_WORDS)
    )


def is_never_name(name: str) -> bool:
    """Whether the name says what is computed."""
    return bool(NEVER_WORDS.intersection(words_of(name)))


def constexpr_choices(names: tuple[str, ...], default: int, smallest: int) -> tuple[int, ...]:
    """The values that an integer of these names may take; empty where it is not one that can be varied.

    smallest: what the kernel's operations ask of a block at least.
    """
    if any(words_of(name) in FLAGS for name in names):
        return (0, 1) if default in (0, 1) else ()
    words = {word for name in names for word in words_of(name)}
    if "SUBTILE" in words:
        return SUBTILE_CHOICES if default in SUBTILE_CHOICES else ()
    if "STAGES" in words:
        return with_default(NUM_STAGES_CHOICES, default) if 1 <= default <= 8 else ()
    if default < 1 or default & (default - 1):
        return ()
    if "WARPS" in words:
        return with_default(NUM_WARPS_CHOICES, default)
    is_block = any(part in word for word in words for part in PART_WORDS)
    low = min(default, smallest) if is_block else 1
    steps = (default // 4, default // 2, default * 2, default * 4)
    return with_default(tuple(value for value in steps if low <= value <= LARGEST_BLOCK), default)


def with_default(choices: tuple[int, ...], default: int) -> tuple[int, ...]:
    return tuple(sorted({*choices, default}))
