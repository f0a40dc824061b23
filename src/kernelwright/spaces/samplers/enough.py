"""When to stop measuring configs: once the next ones are not expected to save anything worth their time.

Pure arithmetic over expected gains; a budget in configs or minutes is for who asks. The rule: a gain is a fraction of
the best time so far, so one threshold serves kernels of 5 µs and of 5 ms.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_GAIN = 0.001
"""A tenth of a percent is below what two timings of the same kernel differ by."""
IN_A_ROW = 5
"""One small expectation can be the model's error; five in a row, each after a measurement, seldom are."""


def enough(expected_gains: Sequence[float | None], least_gain: float = LEAST_GAIN, in_a_row: int = IN_A_ROW) -> bool:
    """Whether the last `in_a_row` asks were each expected to save less than `least_gain` of the best time.

    expected_gains: for each ask so far, in order; None where nothing was expected yet (the first, spread-out configs),
    which always counts as promising.
    """
    last = expected_gains[-in_a_row:]
    return len(last) == in_a_row and all(gain is not None and gain < least_gain for gain in last)
