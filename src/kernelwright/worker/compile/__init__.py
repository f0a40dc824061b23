"""The compiler: a kernel's text to machine code, in a sandbox, and the reading of what it returns."""
