"""Tunable names and their choices of values.

It decides by names only; `tunables.py` finds the values. A name with one of `NEVER_WORDS` is never tunable, because a
wrong guess there changes the operation.
"""

from __future__ import annotations

import itertools
import re
from typing import Literal

from kernelwright.model import Record

TunableKind = Literal["num_warps", "num_stages", "constexpr", "autotune"]

AUTOTUNE = "autotune:"
"""Prefix of the config keys that choose a config of a kernel under `triton.autotune`."""


class Tunable(Record, frozen=True, kw_only=True):
    """One integer of a candidate's source that may take other values.

    key: `kernel.BLOCK`, `kernel.num_warps`, a constant's own name, or `autotune:kernel`; a second one with the same
    name in the file ends in `#2`. choices: ascending, including the default. idle: other values change nothing, for
    example `num_stages` of a kernel without a loop to pipeline. kernels: those that it is for.
    """

    key: str
    default: int
    choices: tuple[int, ...]
    kind: TunableKind
    idle: bool = False
    kernels: tuple[str, ...] = ()


PART_WORDS = ("BLOCK", "TILE")
"""Tunable anywhere within a word: BLOCK_M, XBLOCK, BLOCKSIZE, N_TILE."""

WHOLE_WORDS = frozenset(
    {"BM", "BN", "BK", "GROUP", "CHUNK", "CHUNKS", "SPLIT", "SPLITS", "SPLITK", "UNROLL", "WARPS", "STAGES"}
)
"""Tunable as a separate word: GROUP_M, NUM_SPLITS. Not STAGE: attention kernels choose a mask by it."""

PER_WORDS = frozenset({"BLOCK", "CTA", "ITER", "PROG", "PROGRAM", "SM", "STEP", "THREAD", "TILE", "WARP"})
"""Tunable after PER: ROWS_PER_PROGRAM. Names that begin with ROWS, or contain COLS_PER, are tunable too."""

FLAGS = (("FLATTEN",), ("WARP", "SPECIALIZE"))
"""Names of switches (0 or 1) that change how the compiler schedules a loop (`tl.range`)."""

SUBTILE_CHOICES = (1, 2, 4)
"""Parts in which a tile is stored. A kernel has separate code for each number of parts."""

NEVER_WORDS = frozenset({"ACT", "ACTIVATION", "AXIS", "BITS", "CAUSAL", "CHANNEL", "CHANNELS", "DILATION", "DIM",
                         "DIMS", "DMODEL", "DTYPE", "EPS", "FEATURES", "GROUPS", "HEAD", "HEADS", "KERNEL", "KSIZE",
                         "MODE", "NORM", "ORDER", "PAD", "PADDING", "SCALE", "STRIDE", "STRIDES"})  # fmt: skip
"""Words for what is computed, or for its layout in memory."""

DEFAULT_NUM_WARPS, DEFAULT_NUM_STAGES = 4, 3
"""Triton's defaults on NVIDIA where a launch does not set them (`CUDAOptions`, Triton 3.5 to 3.8)."""

NUM_WARPS_CHOICES = (1, 2, 4, 8, 16)
NUM_STAGES_CHOICES = (1, 2, 3, 4, 5)
SMALLEST_DOT_SIDE = 16
"""`tl.dot` needs at least 16 along each side (Triton's `semantic.dot`, for 16-bit operands)."""
LARGEST_BLOCK = 65536
"""Maximum block size to try: the longest row expected in one program. Triton's own limit is 1048576 elements."""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name: BLOCK, SIZE, M for both `BLOCK_SIZE_M` and `blockSizeM`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return tuple(word.upper() for word in spaced.split("_") if word)


def is_tunable_name(name: str) -> bool:
    """Whether an integer with this name says how the work is divided."""
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
    """Whether the name contains one of `NEVER_WORDS`."""
    return bool(NEVER_WORDS.intersection(words_of(name)))


def constexpr_choices(names: tuple[str, ...], default: int, smallest: int) -> tuple[int, ...]:
    """The values that an integer with these names may take; empty where it cannot be varied.

    smallest: minimum block size that the kernel's operations need.
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
