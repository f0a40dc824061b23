"""What Inductor generates for a problem's reference, as records: for a target, without a GPU."""
