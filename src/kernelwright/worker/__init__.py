"""The worker: everything that touches torch, Triton or a GPU, reached from outside only through its argv.

supervisor (no torch) ── fork server (torch, Triton; no CUDA) ──┬─ recorder   the candidate's host code, confined
                                                                ├─ compiler   kernels to machine code, in parallel
                                                                ├─ bench      replays launch plans, owns the clock
                                                                └─ judge      reference, inputs, expected outputs
"""
