"""From a profile to one bottleneck with its evidence, and the moves that address it. Pure."""
