"""The judge: secret inputs, expected outputs, and whether a candidate's outputs are right."""
