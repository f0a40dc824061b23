"""Files for other programs: the chosen config, the history of a tuning, T4."""
