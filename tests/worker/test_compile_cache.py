"""One candidate's machine code never becomes another's, whatever the texts share and whatever a compiler writes."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kernelwright
from generated import of_rows
from kernelwright.cache import Cache
from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Evaluation, Generated, Loading
from kernelwright.worker.processes.children import Child, ForkServer, environment_of
from kernelwright.worker.rules import extract, static
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import evaluate
from kernelwright.worker.stages.generate import generate
from kernelwright.worker.supervisor import CACHE_VARIABLE, arguments
from on_site import CANDIDATE, PROBLEM, opened

KERNEL = """
import torch
import triton
import triton.language as tl
@IMPORT@

@CONSTANT@

@triton.jit
def helper(v):
    return @HELPER@


@triton.jit
def map_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, helper(@CALL@(x)) * SCALE, mask=at < n)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    map_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""

RIGHT = {
    "IMPORT": "from triton.language import exp as f",
    "CALL": "tl.exp",
    "CONSTANT": "SCALE = tl.constexpr(2.0)",
    "HELPER": "v + 1.0",
}
WRONG = {"another constant": {"CONSTANT": "SCALE = tl.constexpr(2.001)"}, "another helper": {"HELPER": "v + 1.001"}}


def source(**parts: str) -> str:
    text = KERNEL
    for name, value in (RIGHT | parts).items():
        text = text.replace(f"@{name}@", value)
    return text


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    problem = PROBLEM.replace("return x * 2", "return (torch.exp(x) + 1) * 2")
    with opened(tmp_path_factory.mktemp("site"), problem) as made:
        yield made


@pytest.mark.parametrize("what", WRONG)
def test_the_same_kernel_text_beside_other_names_is_another_kernel(session: Session, what: str) -> None:
    right = evaluate(session, Candidate(source=source()), "verify")
    wrong = evaluate(session, Candidate(source=source(**WRONG[what])), "verify")
    again = evaluate(session, Candidate(source=source()), "verify")
    assert [right.status.value, wrong.status.value, again.status.value] == ["passed", "wrong", "passed"]
    assert right.compiled == again.compiled != wrong.compiled


def test_the_same_kernel_text_under_another_import_is_another_kernel(session: Session) -> None:
    right = evaluate(session, Candidate(source=source(CALL="f")), "verify")
    wrong = evaluate(
        session, Candidate(source=source(CALL="f", IMPORT="from triton.language import exp2 as f")), "verify"
    )
    assert (right.status.value, wrong.status.value) == ("passed", "wrong")
    assert right.compiled != wrong.compiled


def test_an_equal_module_is_compiled_once(session: Session) -> None:
    evaluate(session, Candidate(source=source()), "verify")
    known = len(session.processes.compiled)
    evaluate(session, Candidate(source=f"# another comment\n{source()}"), "verify")
    assert len(session.processes.compiled) == known


PLANTING = """
import pathlib
import triton
import triton.language as tl


def plant():
    for folder in @FOLDERS@:
        for path in [*pathlib.Path(folder).rglob("*"), pathlib.Path(folder) / "planted"]:
            try:
                path.write_bytes(b"planted")
            except OSError:
                pass


plant()


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
"""


# --- the cache of several workers (`--compile-cache`) ------------------------------------------------------------


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roles of the processes that fork servers start."""
    roles: list[str] = []
    spawn = ForkServer.spawn

    def counting(self: ForkServer, role: str, *more: Any, **named: Any) -> Child:
        roles.append(role)
        return spawn(self, role, *more, **named)

    monkeypatch.setattr(ForkServer, "spawn", counting)
    return roles


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def verified(session: Session, source: str = CANDIDATE) -> Evaluation:
    """The verdict of a session that has forgotten what it compiled."""
    session.processes.compiled.clear()
    return evaluate(session, Candidate(source=source), "verify")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Filled by another worker."""
    folder = tmp_path_factory.mktemp("cached")
    with opened(folder, cache=Cache(folder / "cache")) as site:
        assert verified(site).status.value == "passed"
    return folder / "cache"


@pytest.fixture(scope="module")
def later(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A second worker with the same cache."""
    with opened(tmp_path_factory.mktemp("later"), cache=Cache(cache)) as site:
        yield site


def test_a_second_worker_compiles_nothing_that_a_first_has_compiled(
    cache: Path, later: Session, spawned: list[str]
) -> None:
    entries = files_of(cache)
    assert entries
    found = verified(later)
    assert (found.status.value, spawned.count("compiler"), files_of(cache)) == ("passed", 0, entries)
    assert found.compiled


def test_an_entry_that_cannot_be_read_or_is_a_link_is_compiled_again(
    cache: Path, later: Session, spawned: list[str], tmp_path: Path
) -> None:
    name, data = next((name, data) for name, data in files_of(cache).items() if b'"num_warps":' in data)
    for number, spoilt in enumerate([b"", b"[]", b'{"code":{}}', data.replace(b'"num_warps":', b'"num_w":')]):
        (cache / name).write_bytes(spoilt)
        assert verified(later).status.value == "passed"
        assert spawned.count("compiler") == number + 1
        assert b'"code"' in (cache / name).read_bytes()
    (tmp_path / "aside").write_bytes(data)
    (cache / name).unlink()
    (cache / name).symlink_to(tmp_path / "aside")
    assert verified(later).status.value == "passed"
    assert spawned.count("compiler") == number + 2
    assert not (cache / name).is_symlink()


def test_a_failure_is_not_kept(cache: Path, later: Session) -> None:
    entries = files_of(cache)
    assert verified(later, CANDIDATE.replace("* 2,", "* tl.arange(0, 3),")).status.value == "compile_error"
    assert files_of(cache) == entries


def test_another_version_of_kernelwright_or_of_the_assembler_reads_no_old_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path / "cache").store("key", {"a": 1})
    assert Cache(tmp_path / "cache").fetch("key") == {"a": 1}
    (tmp_path / "ptxas").write_bytes(b"another")
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(tmp_path / "ptxas"))
    assert Cache(tmp_path / "cache").fetch("key") is None
    monkeypatch.delenv("TRITON_PTXAS_PATH")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    monkeypatch.setattr(kernelwright, "__file__", str(tmp_path / "package" / "__init__.py"))
    assert Cache(tmp_path / "cache").fetch("key") is None


def test_a_cache_is_a_folder_that_only_its_user_can_open(tmp_path: Path) -> None:
    made = Cache(tmp_path / "new" / "cache")
    made.store("key", {"a": 1})
    found = [tmp_path / "new" / "cache", *(tmp_path / "new" / "cache").iterdir()]
    assert [stat.S_IMODE(path.stat().st_mode) for path in found] == [0o700, 0o600]
    (tmp_path / "link").symlink_to(tmp_path / "new" / "cache")
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "file").write_text("")
    for name, words in {"link": "a folder, not a link", "file": "a folder, not a link", "open": "chmod 700"}.items():
        with pytest.raises(ConfigError, match=words):
            Cache(tmp_path / name)


def test_a_worker_takes_the_cache_from_its_option_or_the_environment_and_its_children_do_not_learn_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert arguments().parse_args([]).compile_cache is None
    assert arguments().parse_args(["--compile-cache", "/a"]).compile_cache == Path("/a")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert arguments().parse_args([]).compile_cache == tmp_path
    assert str(tmp_path) not in environment_of(Path("/scratch")).values()


@pytest.mark.parametrize("where", ["compiler", "recorder"])
def test_a_candidate_that_runs_code_in_a_compiler_or_in_its_recorder_plants_no_entry(
    cache: Path, later: Session, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """In the shared cache, or in the worker's own folders. The attack knows these and the names of entries; a compiler
    executes it because static rules are off."""
    honest = verified(later)
    folders = [cache, later.processes.code, later.processes.scratch / "triton", later.processes.scratch]
    kept = {path: path.read_bytes() for folder in folders for path in folder.rglob("*")
            if path.is_file() and path.suffix != ".log"}  # fmt: skip
    parameters = extract.extract(CANDIDATE).parameters
    planting = PLANTING.replace("@FOLDERS@", repr([str(folder) for folder in folders]))
    attack = CANDIDATE
    with monkeypatch.context() as patch:
        patch.setattr(static, "check", lambda source: [])
        if where == "compiler":
            patch.setattr(extract, "extract", lambda source: extract.Kernels(planting, parameters, ()))
        else:
            attack = f"{CANDIDATE}\n{planting.partition('@triton.jit')[0]}"
        verified(later, attack)
    assert [path for path, data in kept.items() if path.is_file() and path.read_bytes() != data] == []
    assert not any(path.name == "planted" for folder in folders for path in folder.rglob("*"))
    assert not any(data == b"planted" for data in files_of(cache).values())
    again = verified(later)
    assert (again.status.value, again.compiled) == ("passed", honest.compiled)


def test_what_an_attack_plants_is_seen_by_the_test_above(tmp_path: Path) -> None:
    """The same text, unconfined: it does write there."""
    (tmp_path / "entry").write_bytes(b"{}")
    exec(PLANTING.replace("@FOLDERS@", repr([str(tmp_path)])).partition("@triton.jit")[0], {})
    assert set(files_of(tmp_path).values()) == {b"planted"}


def test_what_inductor_generates_for_a_problem_is_generated_once(tmp_path: Path, spawned: list[str]) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with opened(tmp_path / "one", cache=Cache(tmp_path / "cache")) as site:
        found = generate(site)
    assert found.captures, found.reason
    with opened(tmp_path / "two", cache=Cache(tmp_path / "cache")) as site:
        site.load(str(tmp_path / "two" / "problem.py"), Loading(library="any"))
        assert generate(site) == found
        assert spawned.count("generator") == 1
        (tmp_path / "two" / "problem.py").write_text(PROBLEM.replace("x * 2", "x * 3"))
        site.load(str(tmp_path / "two" / "problem.py"))
        assert generate(site) != found
        assert spawned.count("generator") == 2


def test_what_inductor_failed_at_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def failed(session: Session, job: object) -> Generated:
        tried.append(job)
        return msgspec.structs.replace(of_rows(), reason="templates: a fault")

    monkeypatch.setattr("kernelwright.worker.stages.generate._generate", failed)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with opened(tmp_path / name, cache=Cache(tmp_path / "cache")) as site:
            assert generate(site).captures
    assert len(tried) == 2
