"""The bounds of a problem: its least FLOP and bytes, derived from the operators of its forward."""
