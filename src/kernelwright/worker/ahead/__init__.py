"""Compiling the framework's baselines before they are timed, so that the GPU does not wait for compilers."""
