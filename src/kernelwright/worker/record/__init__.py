"""The recorder: runs a candidate's host code on fake tensors, in a sandbox, and writes a launch plan."""
