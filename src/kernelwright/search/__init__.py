"""What to try next. One small file per strategy; `STRATEGIES` is the table."""
