"""Machine code as data: what is read of a compiler's answer, how it is stored, and what names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernelwright import codec
from kernelwright.worker.compile.machine_code import MachineCode, Metadata, check, fetch, key_of, metadata_file, store

CODE = MachineCode(
    cubin=b"\x7fELF", metadata=Metadata(name="kernel_0d1d", num_warps=4, shared=1024),
    signature=(("x", "*fp32"), ("n", "i32"), ("BLOCK", "constexpr")),
)  # fmt: skip


def answer(**changes: Any) -> dict[str, Any]:
    """What a compiler says, with metadata changed where a change names a field of it."""
    plain = codec.plain(CODE)
    metadata = plain["metadata"] | {name: v for name, v in changes.items() if name in plain["metadata"]}
    return plain | {"metadata": metadata} | {name: v for name, v in changes.items() if name in plain}


def read(said: object) -> MachineCode:
    code = codec.record(said, MachineCode)
    check(code)
    return code


def test_what_a_compiler_says_is_read_back() -> None:
    assert read(msgspec.json.decode(codec.encode(CODE))) == CODE


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "k; system(1)"},
        {"name": "k\n"},
        {"name": ""},
        {"num_warps": 0},
        {"num_warps": 4096},
        {"num_warps": "4"},
        {"shared": -1},
        {"global_scratch_size": 1 << 40},
        {"launch_pdl": True},
        {"tensordesc_meta": [{"block_size": "text"}]},
        {"cubin": 7},
        {"signature": [["x", "*fp32); system(1"]]},
        {"signature": [["x", "**fp32"]]},
        {"signature": [["x y", "*fp32"]]},
        {"signature": [["x", ["i32", "i64; }"]]]},
        {"signature": [["x", "tensordesc<fp16[64,64],__import__('os')>"]]},
        {"signature": [["x", 3]]},
        {"signature": "x"},
    ],
)
def test_what_is_not_machine_code_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(answer(**changes))


def test_types_of_every_kind_of_parameter_are_read() -> None:
    kinds = [
        "*fp32",
        "*ki8",
        "*fp8e4nv",
        "i1",
        "u64",
        "bf16",
        "constexpr",
        "tensordesc<fp16[64, 128]>",
        ["i32", ["*i8"]],
    ]
    code = read(answer(signature=[[f"p{i}", kind] for i, kind in enumerate(kinds)]))
    assert [codec.plain(kind) for _, kind in code.signature] == kinds


def test_metadata_has_what_the_loader_reads_and_the_target_is_ours() -> None:
    found = msgspec.json.decode(metadata_file(CODE, 90))
    assert found["target"] == {"backend": "cuda", "arch": 90, "warp_size": 32}
    assert (found["name"], found["num_warps"], found["shared"], found["tensordesc_meta"]) == (
        "kernel_0d1d",
        4,
        1024,
        None,
    )


def test_stored_code_is_fetched_by_the_hash_of_its_content(tmp_path: Path) -> None:
    name = store(CODE, tmp_path / "code")
    assert store(CODE, tmp_path / "code") == name
    assert fetch(name, tmp_path / "code") == CODE
    assert [path.name for path in (tmp_path / "code").iterdir()] == [name]


def test_a_file_that_holds_something_else_is_not_loaded(tmp_path: Path) -> None:
    name = store(CODE, tmp_path)
    other = store(msgspec.structs.replace(CODE, cubin=b"planted"), tmp_path)
    (tmp_path / name).write_bytes((tmp_path / other).read_bytes())
    with pytest.raises(ValueError, match="does not hold the machine code"):
        fetch(name, tmp_path)


def test_the_name_of_code_depends_on_all_that_decides_it() -> None:
    """The same body under another import is another kernel."""
    body = "@triton.jit\ndef k(x): tl.store(x, f(tl.load(x)))\n"
    parts = [
        ("from triton.language import exp as f\n" + body, "launch", "sm_90", "3.6.0"),
        ("from triton.language import exp2 as f\n" + body, "launch", "sm_90", "3.6.0"),
        ("from triton.language import exp as f\n" + body, "other launch", "sm_90", "3.6.0"),
        ("from triton.language import exp as f\n" + body, "launch", "sm_100", "3.6.0"),
        ("from triton.language import exp as f\n" + body, "launch", "sm_90", "3.7.0"),
        ("from triton.language import exp as f\n" + body, "launchsm_90", "", "3.6.0"),
    ]
    assert len({key_of(*one) for one in parts}) == len(parts)
