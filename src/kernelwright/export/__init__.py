"""What leaves kernelwright as a file for others: the chosen config, the history of a tuning, T4."""
