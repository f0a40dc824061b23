"""What the source of a candidate may contain. Syntax only: nothing is imported or run."""
