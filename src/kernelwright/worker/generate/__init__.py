"""What torch.compile would run in place of a problem's reference, as text: generated for a target, without a GPU."""
