"""The bench of a machine without a GPU: Triton's interpreter in a sandbox, one process per candidate."""
