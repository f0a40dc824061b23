"""One sampler per file: which config of a space to measure next."""
