"""Which config to measure next: spaces, samplers and recorded spaces.

Nothing here measures: a worker does, or a recorded device answers in its place. To add a sampler: a file, and a line
in the table; `tests/laws` then holds it to the laws of all.
"""

from __future__ import annotations
