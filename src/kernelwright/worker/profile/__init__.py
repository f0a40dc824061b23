"""Profiles of one call of a replayed plan, or of the framework's own implementation. See docs/diagnosis.md."""
