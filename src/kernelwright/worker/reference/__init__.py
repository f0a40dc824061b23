"""The user's problem: its module, cases, inputs and the framework's own implementations. Never a candidate."""
