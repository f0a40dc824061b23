"""Channel between a supervisor and one child: length-prefixed JSON frames over a socket pair.

The supervisor reads with a deadline; after an incomplete or malformed frame the channel is not used again. A candidate
cannot print into a channel: file descriptors 1 and 2 of every child point elsewhere.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Any, Generic, TypeVar

import msgspec

from kernelwright.codec import parameter_of
from kernelwright.model import Status

MAX_FRAME_BYTES = 1 << 28
"""Maximum size of a frame. A larger one means a broken or hostile child."""


T = TypeVar("T", covariant=True)
P = TypeVar("P")


class Message(
    msgspec.Struct, Generic[T], frozen=True, kw_only=True, tag_field="verb", tag=True, forbid_unknown_fields=True
):
    """Base of the requests of a supervisor to a child: tagged records, distinguished by `match`. A `Message[T]` is
    answered with a T."""

    @property
    def verb(self) -> str:
        """The tag of the request, for error messages."""
        return str(self.__struct_config__.tag)

    @property
    def answer(self) -> type[T]:
        """The type of the answer."""
        found: type[T] = parameter_of(type(self))
        return found


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="answer", tag=True, forbid_unknown_fields=True):
    """Base of the answers of a child."""


class Done(Answer, frozen=True, kw_only=True, tag="done"):
    """The request was carried out. value: its result, as plain data."""

    value: Any = None


class Failure(Answer, frozen=True, kw_only=True, tag="failure"):
    """A failure that the candidate's code caused. whole: see `Ended`. ends: whether the answering process ends now."""

    status: Status
    reason: str
    whole: bool = False
    ends: bool = False


class Fault(Answer, frozen=True, kw_only=True, tag="fault"):
    """An error that is not the candidate's. of_problem: the user's problem is at fault, not kernelwright."""

    message: str
    of_problem: bool = False


class ChannelClosed(Exception):
    """The other process closed its end, or sent a frame that is too large or not JSON."""


class ChannelTimeout(Exception):
    """No complete frame arrived by the deadline."""


class Channel:
    """One end of a socket pair. Not thread-safe."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock

    def send(self, message: Any) -> None:
        data = msgspec.json.encode(message)
        try:
            self.socket.settimeout(30.0)
            self.socket.sendall(struct.pack("!I", len(data)) + data)
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Any:
        """The next message; raises ChannelClosed or ChannelTimeout. timeout_s: None to wait without a deadline."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        (size,) = struct.unpack("!I", self._exactly(4, deadline))
        if size > MAX_FRAME_BYTES:
            raise ChannelClosed(f"a frame of {size} bytes, at most {MAX_FRAME_BYTES} expected")
        try:
            return msgspec.json.decode(self._exactly(size, deadline))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ChannelClosed(f"a frame of {size} bytes that is not JSON: {error}") from error

    def _exactly(self, count: int, deadline: float | None) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise ChannelTimeout
            try:
                self.socket.settimeout(left)
                chunk = self.socket.recv(min(count - len(parts), 1 << 20))
            except TimeoutError as error:
                raise ChannelTimeout from error
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not chunk:
                raise ChannelClosed("end of file")
            parts += chunk
        return bytes(parts)

    def close(self) -> None:
        self.socket.close()


KEPT = 64
"""Most plans that a process keeps, which later messages refer to by name. A case needs its own plan, that plan without
one kernel, and the incumbent's."""


def remember(plans: dict[str, P], name: str, plan: P) -> None:
    """Add a plan, and drop the oldest if there are more than KEPT. Both ends of a channel do so in the same order."""
    plans[name] = plan
    while len(plans) > KEPT:
        del plans[next(iter(plans))]
