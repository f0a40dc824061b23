"""The client of the worker: how the coordinator starts one and asks it for evaluations."""
