"""Every exception that kernelwright raises on purpose.

A failing candidate is a value (`model.Evaluation`), never an exception. An exception here means that the
request, the machine or kernelwright itself is at fault, and the command line turns it into exit status 2.

    KernelwrightError
    ├── RequestError       the user's input is at fault
    │   ├── ProblemError       a file that is not a problem, or a problem that cannot be evaluated
    │   ├── RunFolderError     a run folder that is missing, half-written or from another version
    │   └── ConfigError        an unknown strategy, provider, option value, or a missing key
    ├── NothingToWin       an answer, not a fault: the framework's library call is the whole computation
    ├── MachineError       this machine lacks something (a GPU, torch, Triton)
    │   └── Unreachable        the host of a worker, for now
    ├── WorkerError        the worker died or broke its protocol: our failure
    │   └── WorkerLost         its process or the connection to it is gone: another worker could do the request
    └── ProviderError      a model provider gave no usable answer after its retries
        └── MalformedAnswer    it answered, with something that is no reply of a model
"""

from __future__ import annotations


class KernelwrightError(Exception):
    """Base class. The message says what happened, to what, and what was expected; `hint` says what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class RequestError(KernelwrightError):
    """The user's input is at fault."""


class ProblemError(RequestError):
    """A file that is not a problem, or a problem that cannot be evaluated."""


class RunFolderError(RequestError):
    """A run folder that is missing, half-written or from another version."""


class ConfigError(RequestError):
    """An unknown strategy, provider or option value, or a missing key."""


class NothingToWin(KernelwrightError):
    """No search is run, because the framework's library call is the whole computation. An answer, not a fault."""


class MachineError(KernelwrightError):
    """This machine lacks something that the request needs."""


class Unreachable(MachineError):
    """The host of a worker cannot be reached now. One that was reached before may be back later."""


class WorkerError(KernelwrightError):
    """The worker died or broke its protocol."""


class WorkerLost(WorkerError):
    """The process of a worker or the connection to it is gone; another worker could do the request."""

    from_outside = False
    """Whether the cause was external, so no request is to blame: the worker was asked to end, its host became
    unreachable, or it was lost before the request."""

    @classmethod
    def before(cls, earlier: WorkerLost) -> WorkerLost:
        """The error for a request to a worker that was lost earlier."""
        found = cls(Exception.__str__(earlier), earlier.hint)
        found.from_outside = True
        return found


class ProviderError(KernelwrightError):
    """A model provider gave no usable answer after its retries."""


class MalformedAnswer(ProviderError):
    """A model provider answered with something that is no reply of a model. The next answer may be one."""
