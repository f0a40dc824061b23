"""The bench on a machine without a GPU: Triton's CPU interpreter in a sandbox, one process per candidate."""
