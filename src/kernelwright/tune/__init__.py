"""The job of `tune`: try configs of one candidate, hold finals, choose. `tuning` says what to try next."""

from kernelwright.tune.device import Device, LiveDevice, ReplayedDevice
from kernelwright.tune.records import Advice, Choice, Outcome, Settings, Tried
from kernelwright.tune.tune import tune

__all__ = ["Advice", "Choice", "Device", "LiveDevice", "Outcome", "ReplayedDevice", "Settings", "Tried", "tune"]
