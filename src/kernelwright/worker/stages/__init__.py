"""The order of checks: what an evaluation, a benchmark or a qualification does, step by step."""
