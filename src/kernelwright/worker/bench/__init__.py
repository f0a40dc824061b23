"""The bench: replays plans on the GPU and owns the clock."""
