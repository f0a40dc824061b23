"""When to stop measuring configs: once the next ones are not expected to save anything worth their time.

Pure arithmetic over expected gains; a budget in configs or minutes is for who asks. The rule: a gain is a fraction of
the best time so far, so one threshold serves kernels of 5 µs and of 5 ms.
"""

from __future__ import annotations

import math
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


def gain_of_drawing(times_us: Sequence[float]) -> float | None:
    """What one more random config is expected to save, for samplers that expect nothing themselves.

    The next of n + 1 exchangeable draws is the best with chance 1/(n + 1), and is then ahead by about as much as the
    best is of the second best now (Rényi's representation of spacings: that between the first and second of an
    exponential tail). None with fewer than three times.
    """
    if len(times_us) < 3:
        return None
    best_us, second_us, third_us, *_ = sorted(times_us)
    lead = (math.log(second_us / best_us) + 2 * math.log(third_us / second_us)) / 2
    return lead / (len(times_us) + 1)
