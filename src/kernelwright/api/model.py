"""The class `Model` of the Python API: a whole model, as a script on disk, and the survey of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.api.keywords import log
from kernelwright.api.results import SurveyResult, shown_as
from kernelwright.jobs.whole_model import MODELS, survey_model
from kernelwright.jobs.worker import Desk, Notify, StartWorker, local_worker
from kernelwright.problems.live import write_model


@dataclass(frozen=True)
class Model:
    """A module with its inputs. script: FILE or FILE:FUNCTION, see docs/whole-model.md."""

    script: str

    @classmethod
    def from_module(
        cls, module: Any, inputs: Mapping[str, Any], *, train: bool = False, name: str | None = None,
        folder: str | os.PathLike[str] = MODELS,
    ) -> Model:  # fmt: skip
        """Write a `torch.nn.Module` as a script to `folder`/NAME_module; ambient autocast is taken, and the module is
        unchanged.

        inputs: as `inputs()` of a script returns them. train: whether the backward is part of the model. name: default:
        the class's name. Values of parameters are not stored. Raises `ProblemError` if something cannot be stored.
        """
        return cls(str(write_model(module, inputs, name, Path(folder), train)))

    def survey(
        self, *, out: str | os.PathLike[str] = MODELS, max_autotune: bool = False, target: str | None = None,
        start_worker: StartWorker = local_worker, notify: Notify = log,
    ) -> SurveyResult:  # fmt: skip
        """Where the model's time goes, what could be won, and a problem for each region that matters in `out`/NAME.

        max_autotune: also time this mode of `torch.compile` (slow). target: compile target, only without a GPU. Raises
        `RequestError` for the script, `MachineError` if torch or Triton is missing.
        """
        desk = Desk(notify, start_worker, target=target)
        return shown_as(SurveyResult, survey_model(self.script, out=Path(out), max_autotune=max_autotune, desk=desk))
