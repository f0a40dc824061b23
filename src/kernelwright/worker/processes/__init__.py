"""Processes of the worker: starting, limiting and ending them, and the channels to them.

Only the fork server and its children import torch.
"""
