"""Processes of the worker: starting, limiting and ending them, and the channels to them. Imports no torch."""
