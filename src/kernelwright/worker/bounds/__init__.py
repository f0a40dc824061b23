"""The least work of a problem: FLOP and bytes derived from the operators of its forward."""
