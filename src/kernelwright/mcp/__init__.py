"""The MCP server: a coding agent works on a run, and judges kernels, through its tools."""
