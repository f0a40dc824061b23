"""The clock: device times of calls, for candidates in the bench and for the framework in the judge."""
