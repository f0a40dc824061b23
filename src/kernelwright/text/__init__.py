"""How things are written: escaping, units, tables and Markdown. Pure functions of their arguments."""
