"""kernelwright: from a PyTorch computation to a verified, honestly timed, faster Triton kernel."""

__version__ = "0.1.0"
