"""What Python programs call: the jobs with their defaults, and results that a notebook can show.

verbs     verify, check, bench, profile, export
run       a run's folder, opened
results   the jobs' records, with their text and their HTML
"""
