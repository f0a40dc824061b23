"""What a profiler sees of one call of a replayed plan, or of the framework's own. See docs/diagnosis.md."""
