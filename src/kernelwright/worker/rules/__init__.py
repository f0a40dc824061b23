"""Rules on the source of a candidate. Syntax only: nothing is imported or run."""
