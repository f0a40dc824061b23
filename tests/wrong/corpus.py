"""Wrong kernels that are right on ordinary values, by family, and honest counterparts on the same problems.

Each is the kernel of a subject with places replaced. The subject's own kernel and every one in HONEST is
right on any values that the problem may be given; every one in WRONG is far off on some of them.
`tests/wrong/test_wrong.py` and `benchmarks/wrong_kernels.py` run them; to add one, add a line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SUBJECTS = {
    folder.name: (folder / "kernel.py").read_text(encoding="utf-8")
    for folder in sorted((Path(__file__).parent / "subjects").iterdir())
    if (folder / "kernel.py").exists()
}
"""The honest kernel of each problem, which stands beside it."""


@dataclass(frozen=True)
class Kernel:
    """name: unique within its subject. family: of mistakes, or "honest"."""

    subject: str
    name: str
    family: str
    source: str

    @property
    def problem(self) -> Path:
        return Path(__file__).parent / "subjects" / self.subject / "problem.py"


def changed(subject: str, name: str, family: str, *changes: tuple[str, str]) -> Kernel:
    """The kernel of a subject with places replaced; each occurs once."""
    source = SUBJECTS[subject]
    for old, new in changes:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} stands {source.count(old)} times in the kernel of {subject}, once was expected")
        source = source.replace(old, new)
    return Kernel(subject, name, family, source)


def y_is(expression: str) -> tuple[str, str]:
    """A change that computes y anew before it is stored."""
    return "    tl.store", f"    y = {expression}\n    tl.store"


OUTSIDE = ("import triton.language as tl\n",
           "import triton.language as tl\nfrom triton.language.extra import libdevice\n")  # fmt: skip
PARAMETER = "parameters in their initial range"
BUFFER = "buffers in their initial range"
EPSILON = "epsilons"
FLOOR = "variances clamped below"
TIES = "ties"
LARGE = "large finite values"
MASK = "finite masks and starting values"
WHOLE = "floats that hold whole numbers"
TAIL = "tails"


def split(name: str) -> tuple[str, str]:
    """A change that makes three fp16 parts of an operand of the linear layer and adds them up again."""
    parts = f"""    {name}0 = {name}.to(tl.float16)
    {name}1 = ({name} - {name}0.to(tl.float32)).to(tl.float16)
    {name}2 = ({name} - {name}0.to(tl.float32) - {name}1.to(tl.float32)).to(tl.float16)
    {name} = {name}0.to(tl.float32) + {name}1.to(tl.float32) + {name}2.to(tl.float32)
"""
    return "    y = tl.sum(", parts + "    y = tl.sum("


WRONG = (
    # --- parameters
    changed("layer_norm", "weight_abs", PARAMETER, ("* weight", "* tl.abs(weight)")),
    changed("layer_norm", "weight_clamped", PARAMETER, ("* weight", "* tl.minimum(tl.maximum(weight, 0.3), 1.7)")),
    changed("layer_norm", "bias_clamped", PARAMETER, ("+ bias", "+ tl.minimum(tl.maximum(bias, -0.7), 0.7)")),
    changed("rms_norm", "weight_abs", PARAMETER, ("* weight", "* tl.abs(weight)")),
    changed("rms_norm", "weight_relu", PARAMETER, ("* weight", "* tl.maximum(weight, 0.0)")),
    changed("batch_norm", "weight_abs", PARAMETER, ("* weight", "* tl.abs(weight)")),
    changed("batch_norm", "bias_clamped", PARAMETER, ("+ bias", "+ tl.minimum(tl.maximum(bias, -0.7), 0.7)")),
    changed("scale_shift", "weight_abs", PARAMETER, ("x * weight", "x * tl.abs(weight)")),
    changed("scale_shift", "bias_abs", PARAMETER, ("+ bias", "+ tl.abs(bias)")),
    changed("scale_shift", "weight_at_most_one", PARAMETER, ("x * weight", "x * tl.minimum(weight, 1.0)")),
    changed("scale_shift", "bias_at_most_one", PARAMETER, ("+ bias", "+ tl.minimum(bias, 1.0)")),
    changed("linear", "weight_clamped", PARAMETER,
            ("    y = tl.sum(w ", "    w = tl.minimum(tl.maximum(w, -0.1768), 0.1768)\n    y = tl.sum(w ")),
    changed("linear", "bias_clamped", PARAMETER, ("axis=1) + b", "axis=1) + tl.minimum(tl.maximum(b, -0.18), 0.18)")),
    changed("exp_gain", "taylor", PARAMETER,
            ("tl.exp(gain)", "1 + gain * (1 + gain * (0.5 + gain * (1 / 6 + gain * (1 / 24 + gain / 120))))")),
    changed("exp_gain", "gain_clamped", PARAMETER, ("tl.exp(gain)", "tl.exp(tl.minimum(tl.maximum(gain, -1.0), 1.0))")),
    changed("prelu", "maximum", PARAMETER, ("tl.where(x >= 0, x, x * slope)", "tl.maximum(x, x * slope)")),
    changed("prelu", "slope_abs", PARAMETER, ("x * slope", "x * tl.abs(slope)")),
    changed("prelu", "slope_clamped", PARAMETER, ("x * slope", "x * tl.minimum(tl.maximum(slope, 0.0), 1.0)")),
    # --- buffers
    changed("batch_norm", "mean_clamped", BUFFER, ("x - mean", "x - tl.minimum(tl.maximum(mean, -0.7), 0.7)")),
    changed("batch_norm", "variance_at_most_two", BUFFER, ("rsqrt(var", "rsqrt(tl.minimum(var, 2.0)")),
    changed("batch_norm", "rsqrt_by_a_series", BUFFER,
            ("tl.rsqrt(var + 1e-5)", "(tl.where((var > 0.4) & (var < 2.5), tl.rsqrt(var + 1e-5), 1.0))")),
    changed("temperature", "clamped_below", BUFFER, ("/ temperature", "/ tl.maximum(temperature, 0.5)")),
    changed("temperature", "clamped_above", BUFFER, ("/ temperature", "/ tl.minimum(temperature, 2.0)")),
    # --- variances
    changed("batch_norm", "variance_clamped", FLOOR, ("rsqrt(var", "rsqrt(tl.maximum(var, 0.3)")),
    changed("layer_norm", "variance_clamped", FLOOR, ("rsqrt(variance", "rsqrt(tl.maximum(variance, 1e-4)")),
    changed("row_variance", "clamped", FLOOR,
            ("axis=0) / columns\n    tl.store", "axis=0) / columns\n    y = tl.maximum(y, 1e-4)\n    tl.store")),
    changed("standardise", "deviation_clamped", FLOOR, ("d / (deviation", "d / (tl.maximum(deviation, 1e-3)")),
    # --- epsilons
    changed("layer_norm", "left_out", EPSILON, ("variance + 1e-5", "variance")),
    changed("layer_norm", "outside_the_root", EPSILON,
            ("tl.rsqrt(variance + 1e-5)", "(1 / (tl.sqrt(variance) + 1e-7))")),
    changed("rms_norm", "left_out", EPSILON, ("square + 1e-12", "square")),
    changed("rms_norm", "1e_8", EPSILON, ("square + 1e-12", "square + 1e-8")),
    changed("rms_norm", "clamped_instead", EPSILON, ("square + 1e-12", "tl.maximum(square, 1e-12)")),
    changed("batch_norm", "left_out", EPSILON, ("var + 1e-5", "var + 9e-6")),
    changed("normalize", "left_out", EPSILON, ("tl.maximum(norm, 1e-12)", "norm")),
    changed("normalize", "1e_3", EPSILON, ("tl.maximum(norm, 1e-12)", "tl.maximum(norm, 1e-3)")),
    changed("normalize", "1e_6", EPSILON, ("tl.maximum(norm, 1e-12)", "tl.maximum(norm, 1e-6)")),
    changed("standardise", "left_out", EPSILON, ("deviation + 1e-6", "deviation")),
    changed("cosine", "left_out", EPSILON,
            ("tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), 1e-8)", "tl.sqrt(tl.sum(x * x, axis=0))")),
    changed("cosine", "1e_2", EPSILON,
            ("axis=0)), 1e-8)\n    norm_y", "axis=0)), 1e-2)\n    norm_y"),
             ("axis=0)), 1e-8)\n    tl.store", "axis=0)), 1e-2)\n    tl.store")),
    # --- ties
    changed("argmax", "last", TIES,
            ("tl.min(tl.where(x == largest, k, columns)", "tl.max(tl.where(x == largest, k, -1)")),
    changed("max_and_place", "last", TIES, ("tl.argmax(x, axis=0)", "tl.max(tl.where(x == largest, k, -1), axis=0)")),
    changed("pool_places", "last", TIES, ("(x > best)", "(x >= best)")),
    # --- large values
    changed("linear", "three_fp16_parts_of_x", LARGE, split("x")),
    changed("linear", "three_fp16_parts_of_w", LARGE, split("w")),
    changed("linear", "largest_fp16", LARGE,
            ("    y = tl.sum(", "    x = tl.minimum(tl.maximum(x, -65504.0), 65504.0)\n    y = tl.sum(")),
    changed("row_max", "largest_fp16", LARGE, ("tl.max(x, axis=0)", "tl.minimum(tl.max(x, axis=0), 65504.0)")),
    changed("silu", "clamped", LARGE, ("y = x /", "x = tl.minimum(x, 10000.0)\n    y = x /")),
    # --- masks
    changed("softmax", "1e30", MASK, ('other=-float("inf")', "other=-1e30")),
    changed("softmax", "1e4", MASK, ('other=-float("inf")', "other=-1e4")),
    changed("softmax", "maximum_at_least_zero", MASK, ("tl.max(x, axis=0)", "tl.maximum(tl.max(x, axis=0), 0.0)")),
    changed("log_softmax", "1e4", MASK, ('other=-float("inf")', "other=-1e4")),
    changed("row_max", "1e30", MASK, ('other=-float("inf")', "other=-1e30")),
    changed("row_max", "1e4", MASK, ('other=-float("inf")', "other=-1e4")),
    changed("row_max", "zero", MASK, ('other=-float("inf")', "other=0.0")),
    changed("argmax", "1e30", MASK, ("tl.max(x, axis=0)", "tl.maximum(tl.max(x, axis=0), -1e30)")),
    changed("causal_attention", "1e4", MASK, ('scores, -float("inf"))', "scores, -1e4)")),
    changed("causal_attention", "1e30", MASK, ('scores, -float("inf"))', "scores, -1e30)")),
    # --- whole numbers
    changed("counted_mean", "counts_by_row", WHOLE,
            ("count = tl.load(count_ptr + row)",
             "r = row % 6\n    count = tl.where(r == 0, 7.0, tl.where(r == 1, 40.0, tl.where(r == 2, 3.0, "
             "tl.where(r == 3, 12.0, tl.where(r == 4, 25.0, 5.0))))) + 0 * tl.load(count_ptr + row)")),
    changed("picked", "labels_by_row", WHOLE,
            ("label = tl.load(label_ptr + row).to(tl.int64)",
             "r = row % 6\n    label = tl.where(r == 0, 31, tl.where(r == 1, 4, tl.where(r == 2, 17, "
             "tl.where(r == 3, 0, tl.where(r == 4, 39, 22))))) + 0 * tl.load(label_ptr + row).to(tl.int64)")),
    changed("masked_sum", "mask_by_column", WHOLE,
            ("x * keep", "x * tl.where((k % 5 == 1) | (k % 5 == 4), 0.0, 1.0) + 0.0 * keep")),
    # --- tails
    changed("exp4", "zero_below_1.5", TAIL, ("y = tl.exp(4.0 * x)", "y = tl.where(x < -1.5, 0.0, tl.exp(4.0 * x))")),
    changed("exp4", "zero_below_2", TAIL, ("y = tl.exp(4.0 * x)", "y = tl.where(x < -2.0, 0.0, tl.exp(4.0 * x))")),
    changed("exp4", "clamped_below", TAIL, ("tl.exp(4.0 * x)", "tl.exp(tl.maximum(4.0 * x, -6.0))")),
    changed("softmax", "small_terms_dropped", TAIL,
            ("e = tl.exp(x - largest)", "e = tl.exp(x - largest)\n    e = tl.where(e < 3e-6, 0.0, e)")),
    changed("sigmoid", "zero_below_12", TAIL,
            ("y = 1.0 / (1.0 + tl.exp(-x))", "y = tl.where(x < -12.0, 0.0, 1.0 / (1.0 + tl.exp(-x)))")),
    changed("sigmoid", "clamped", TAIL, ("tl.exp(-x)", "tl.exp(-tl.maximum(x, -11.0))")),
    changed("softplus", "zero_below_11", TAIL, y_is("tl.where(x < -11.0, 0.0, y)")),
    changed("softplus", "linear_above_8", TAIL, y_is("tl.where(x > 8.0, x, y)")),
    changed("gelu", "zero_below_4", TAIL, y_is("tl.where(x < -4.0, 0.0, y)")),
    changed("gelu", "linear_above_4", TAIL, y_is("tl.where(x > 4.0, x, y)")),
    changed("silu", "zero_below_10", TAIL, y_is("tl.where(x < -10.0, 0.0, y)")),
    changed("tanh", "libdevice_above_a_hundredth", TAIL, OUTSIDE,
            y_is("tl.where(tl.abs(x) > 0.01, libdevice.tanh(x), libdevice.erf(x))")),
    changed("tanh", "one_above_6", TAIL, y_is("tl.where(tl.abs(x) > 6.0, tl.where(x < 0, -1.0, 1.0), y)")),
    changed("tanh", "linear_below_a_twentieth", TAIL, y_is("tl.where(tl.abs(x) < 0.05, x, y)")),
    changed("log1p", "linear_below_a_hundredth", TAIL, y_is("tl.where(x < 0.01, x, y)")),
    changed("expm1", "linear_below_a_hundredth", TAIL, y_is("tl.where(tl.abs(x) < 0.01, x, y)")),
    changed("softplus", "exponential_below_3", TAIL, y_is("tl.where(x < -3.0, tl.exp(x), y)")),
    changed("gelu", "by_tanh", TAIL, y_is("x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))")),
    changed("log1p", "two_terms", TAIL, y_is("tl.where(x < 0.1, x - x * x / 2, y)")),
    changed("log1p", "zero_below_1e-4", TAIL, y_is("tl.where(x < 1e-4, 0.0, y)")),
    changed("expm1", "two_terms", TAIL, y_is("tl.where(tl.abs(x) < 0.1, x + x * x / 2, y)")),
    changed("expm1", "minus_one_below_11", TAIL, y_is("tl.where(x < -11.0, -1.0, y)")),
    changed("log_softmax", "floor", TAIL, y_is("tl.maximum(y, -700.0)")),
)  # fmt: skip

FLUSHED = "tl.where(tl.abs(y) < 1.1754944e-38, 0.0, y)"

HONEST = (
    changed("layer_norm", "one_pass", "honest",
            ("tl.sum(d * d, axis=0) / columns", "tl.sum(x * x, axis=0) / columns - mean * mean"),
            ("variance + 1e-5", "tl.maximum(variance, 0.0) + 1e-5")),
    changed("layer_norm", "root_and_division", "honest",
            ("d * tl.rsqrt(variance + 1e-5)", "d / tl.sqrt(variance + 1e-5)")),
    changed("layer_norm", "reciprocal", "honest",
            ("tl.sum(x, axis=0) / columns", "tl.sum(x, axis=0) * (1.0 / columns)")),
    changed("layer_norm", "folded", "honest", ("y = d * tl.rsqrt(variance + 1e-5) * weight + bias",
            "scale = tl.rsqrt(variance + 1e-5) * weight\n    y = x * scale + (bias - mean * scale)")),
    changed("rms_norm", "root_and_division", "honest", ("x * tl.rsqrt(square + 1e-12)", "x / tl.sqrt(square + 1e-12)")),
    changed("rms_norm", "weight_first", "honest",
            ("x * tl.rsqrt(square + 1e-12) * weight", "(x * weight) * tl.rsqrt(square + 1e-12)")),
    changed("normalize", "reciprocal", "honest",
            ("x / tl.maximum(norm, 1e-12)", "x * (1.0 / tl.maximum(norm, 1e-12))")),
    changed("standardise", "reciprocal", "honest", ("d / (deviation + 1e-6)", "d * (1.0 / (deviation + 1e-6))")),
    changed("batch_norm", "folded", "honest", ("y = d * tl.rsqrt(var + 1e-5) * weight + bias",
            "scale = tl.rsqrt(var + 1e-5) * weight\n    y = x * scale + (bias - mean * scale)")),
    changed("softmax", "base_two", "honest", ("tl.exp(x - largest)", "tl.exp2((x - largest) * 1.4426950408889634)")),
    changed("softmax", "reciprocal", "honest", ("e / tl.sum(e, axis=0)", "e * (1.0 / tl.sum(e, axis=0))")),
    changed("softmax", "flushed", "honest", y_is(FLUSHED)),
    changed("log_softmax", "one_subtraction", "honest",
            ("x - largest - tl.log(total)", "x - (largest + tl.log(total))")),
    changed("argmax", "language", "honest",
            ("tl.min(tl.where(x == largest, k, columns), axis=0)", "tl.argmax(x, axis=0)")),
    changed("max_and_place", "by_comparison", "honest",
            ("tl.argmax(x, axis=0)", "tl.min(tl.where(x == largest, k, columns), axis=0)")),
    changed("exp4", "flushed", "honest", y_is(FLUSHED)),
    changed("exp4", "base_two", "honest", ("tl.exp(4.0 * x)", "tl.exp2(x * 5.770780163555854)")),
    changed("sigmoid", "language", "honest", ("1.0 / (1.0 + tl.exp(-x))", "tl.sigmoid(x)")),
    changed("sigmoid", "flushed", "honest", y_is(FLUSHED)),
    changed("silu", "product", "honest", ("x / (1.0 + tl.exp(-x))", "x * tl.sigmoid(x)")),
    changed("softplus", "linear_above_20", "honest",
            y_is("tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(tl.minimum(x, 20.0))))")),
    changed("gelu", "expanded", "honest", ("0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))",
            "0.5 * x + 0.5 * x * tl.erf(x * 0.7071067811865476)")),
    changed("tanh", "libdevice", "honest", OUTSIDE, y_is("libdevice.tanh(x)")),
    changed("tanh", "logistic", "honest", y_is("2.0 * tl.sigmoid(2.0 * x) - 1.0")),
    changed("log1p", "kahan", "honest",
            ("tl.log(1.0 + x)",
             "tl.where(1.0 + x == 1.0, x, tl.log(1.0 + x) * (x / tl.where(1.0 + x == 1.0, 1.0, 1.0 + x - 1.0)))")),
    changed("expm1", "series_near_zero", "honest",
            ("tl.exp(x) - 1.0",
             "tl.where(tl.abs(x) < 0.02, x * (1 + x * (0.5 + x * (1 / 6 + x / 24))), tl.exp(x) - 1.0)")),
    changed("expm1", "linear_near_zero", "honest", y_is("tl.where(tl.abs(x) < 1e-4, x, y)")),
    changed("tanh", "linear_near_zero", "honest", y_is("tl.where(tl.abs(x) < 1e-3, x, y)")),
    changed("linear", "two_halves", "honest", ("tl.sum(w * x[None, :], axis=1) + b",
            "tl.sum(tl.where(k[None, :] < 16, w * x[None, :], 0.0), axis=1) + "
            "(tl.sum(tl.where(k[None, :] < 16, 0.0, w * x[None, :]), axis=1) + b)")),
    changed("causal_attention", "divided_last", "honest",
            ("p = e / tl.sum(e, axis=0)", "p = e"),
             ("tl.sum(p[:, None] * v, axis=0)", "tl.sum(p[:, None] * v, axis=0) / tl.sum(e, axis=0)")),
    changed("causal_attention", "scaled_query", "honest",
            ("tl.sum(k * q[None, :], axis=1) * 0.25", "tl.sum(k * (q * 0.25)[None, :], axis=1)")),
    changed("cosine", "one_division", "honest",
            ("tl.sum((x / norm_x) * (y / norm_y), axis=0)", "tl.sum((x / norm_x) * y, axis=0) / norm_y")),
    changed("counted_mean", "divided_first", "honest", ("tl.sum(x, axis=0) / count", "tl.sum(x / count, axis=0)")),
    changed("prelu", "two_parts", "honest",
            ("tl.where(x >= 0, x, x * slope)", "tl.maximum(x, 0.0) + slope * tl.minimum(x, 0.0)")),
    changed("exp_gain", "base_two", "honest", ("tl.exp(gain)", "tl.exp2(gain * 1.4426950408889634)")),
    changed("temperature", "reciprocal", "honest", ("tl.sin(x) / temperature", "tl.sin(x) * (1.0 / temperature)")),
    changed("row_variance", "one_pass", "honest",
            ("tl.sum(d * d, axis=0) / columns", "tl.sum(x * x, axis=0) / columns - mean * mean")),
    *(Kernel(subject, "as it is", "honest", source) for subject, source in SUBJECTS.items()),
)  # fmt: skip
