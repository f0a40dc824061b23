"""The judge: secret random draws of inputs, expected outputs, tolerances, and the verdict on a candidate's outputs."""
