"""The bench: the process that replays launch plans on the GPU and measures their device time."""
