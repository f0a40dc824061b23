"""Tuning of one candidate: a search over configs, finals and a choice. The samplers of `spaces` choose the configs."""

from kernelwright.tune.device import Device, LiveDevice, ReplayedDevice
from kernelwright.tune.records import Advice, Choice, Outcome, Settings, Tried
from kernelwright.tune.tune import tune
