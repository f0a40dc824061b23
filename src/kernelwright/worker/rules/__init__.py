"""Static rules on the source of a candidate. They parse the source and neither import nor run it."""
