"""The worker: the processes that use torch, Triton or a GPU. Other code starts it by its command line only.

supervisor (no torch) ── fork server (torch, Triton; no CUDA) ──┬─ recorder   the candidate's host code, confined
                                                                ├─ compiler   kernels to machine code, in parallel
                                                                ├─ bench      replays launch plans, owns the clock
                                                                └─ judge      reference, inputs, expected outputs
"""
