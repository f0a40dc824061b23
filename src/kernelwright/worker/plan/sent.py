"""Plans that a process was sent once, and that later messages name.

Both ends of a channel call `remember` in the same order, so they forget the same plans.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

KEPT = 64
"""Plans that a process remembers. One evaluation of a case needs its own, one less a kernel, and the incumbent's."""


def remember(plans: dict[str, T], name: str, plan: T) -> None:
    """Add a plan, and forget the oldest where there are more than KEPT."""
    plans[name] = plan
    while len(plans) > KEPT:
        del plans[next(iter(plans))]
