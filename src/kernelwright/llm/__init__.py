"""Model providers: HTTP clients that send a prompt and return a reply with its cost.

They know nothing about kernels or runs (`propose.model` does). To add a provider, add a file that satisfies
`protocol.Provider`, a function in `propose/table.py`, and a line in its table. A provider is imported only when it is
used.
"""
