"""The reference: the user's problem file, its cases and inputs, and the framework baselines. No candidate runs here."""
