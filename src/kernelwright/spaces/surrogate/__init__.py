"""The model-based sampler and its parts."""
