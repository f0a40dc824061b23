"""The command line: one file per verb, and what they share. Only here is anything printed."""
