"""The launch plan: the data that the recorder leaves, how it is checked, laid out in memory and replayed."""
