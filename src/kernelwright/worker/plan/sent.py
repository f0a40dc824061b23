"""Plans that are sent to a process once. Later messages refer to them by name.

Both ends of a channel call `remember` in the same order, so they drop the same plans.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

KEPT = 64
"""Most plans that a process keeps. A case needs its own plan, that plan without one kernel, and the incumbent's."""


def remember(plans: dict[str, T], name: str, plan: T) -> None:
    """Add a plan, and drop the oldest if there are more than KEPT."""
    plans[name] = plan
    while len(plans) > KEPT:
        del plans[next(iter(plans))]
