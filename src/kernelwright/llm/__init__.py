"""Model providers: a prompt goes out over HTTP, a reply with its cost comes back.

They know nothing of kernels or runs (`propose.model` does). To add one: a file here that satisfies
`protocol.Provider`, a function in `propose/table.py`, and a line in its table. Nothing is imported until one is used.
"""
