"""The Triton code that Inductor generates for a problem's reference, as text: for a target, without a GPU."""
