"""The verbs as functions: they print nothing, call `notify` with lines for people, and return records."""
