"""Kernels that others published, judged as they were published: a manifest, our problems for them, and the verdicts."""
