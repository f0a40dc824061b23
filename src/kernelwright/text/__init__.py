"""Text formatting: escaping, units, tables and Markdown. Pure functions of their arguments."""
