"""The compiler: the sandboxed process that turns a kernel's text into machine code, and the readers of its results."""
