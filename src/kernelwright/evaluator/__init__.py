"""The client side of workers: starts them, sends them requests, and dispatches jobs to the lanes of a fleet."""
