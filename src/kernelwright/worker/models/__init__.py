"""A whole model: its graphs as Inductor sees them, the regions between library calls, and problems written from these.

`python -m kernelwright.worker.models JOB.json` runs the user's script, which is the user's own code, and nothing of a
candidate. Graphs are captured on fake tensors, so a model of any size takes no memory.
"""
