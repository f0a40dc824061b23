"""Table of libdevice functions with an implementation on the CPU, by their names in Triton's IR.

Each is computed in float64 and rounded to the dtype of its result, so its error is at most that of the device's own
(CUDA Math API: 0 to 4 ulp in single precision). The table leaves out functions that are fast and inexact, round in
another direction, or work on bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Function = Callable[..., Any]
"""An elementwise function of float64 arrays."""


def _by_torch(name: str) -> Function:
    """An elementwise function of torch that numpy does not have."""
    function = getattr(torch, name)

    def computed(value: Any) -> Any:
        return function(torch.from_numpy(np.array(value, dtype=np.float64))).numpy()

    return computed


def _away_from_zero(value: Any) -> Any:
    """Rounded to the nearest whole number, a half away from zero."""
    whole = np.trunc(value)
    return np.where(np.abs(value - whole) >= 0.5, whole + np.copysign(1.0, value), whole)


PLAIN: dict[str, Function] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "copysign": np.copysign, "cos": np.cos,
    "cosh": np.cosh, "erf": _by_torch("erf"), "erfc": _by_torch("erfc"), "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x), "exp2": np.exp2, "expm1": np.expm1, "fabs": np.abs, "floor": np.floor,
    "fmax": np.fmax, "fmin": np.fmin, "fmod": np.fmod, "hypot": np.hypot, "llrint": np.rint,
    "llround": _away_from_zero, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "nearbyint": np.rint, "pow": np.power, "rint": np.rint,
    "round": _away_from_zero, "rsqrt": lambda x: 1.0 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
"""Functions in single and double precision. The single-precision name has an f at the end."""

FUNCTIONS: dict[str, Function] = {
    **{f"__nv_{name}{ending}": function for name, function in PLAIN.items() for ending in ("", "f")},
    "__nv_isnanf": np.isnan, "__nv_isnand": np.isnan, "__nv_isinff": np.isinf, "__nv_isinfd": np.isinf,
    "__nv_finitef": np.isfinite, "__nv_isfinited": np.isfinite,
    # In single precision only: of two float32 a product is exact in float64, and a quotient or sum rounded twice is as
    # if rounded once (Figueroa, "When is double rounding innocuous?", 1995). A sum of three may be off by half an ulp.
    "__nv_fadd_rn": np.add, "__nv_fmul_rn": np.multiply, "__nv_fdiv_rn": np.divide, "__nv_fsqrt_rn": np.sqrt,
    "__nv_frcp_rn": np.reciprocal, "__nv_fmaf": lambda a, b, c: a * b + c, "__nv_fmaf_rn": lambda a, b, c: a * b + c,
}  # fmt: skip
