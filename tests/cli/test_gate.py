"""`bench --against`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import Result

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT, FakeWorker

NO_GPU = FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, device=None))


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("problem.py").write_text(PROBLEM)
    Path("mine.py").write_text("BLOCK = 512\n")
    assert run("bench", "problem.py", "mine.py", "--json", "base.json").exit_code == 0


def against(*words: str, worker: FakeWorker | None = None) -> Result:
    return run("bench", "problem.py", "mine.py", "--against", "base.json", *words, worker=worker)


def test_a_candidate_as_fast_as_the_baseline_ends_with_0_and_a_slower_one_with_1() -> None:
    result = against()
    assert result.exit_code == 0
    assert "+0.0%" in result.stdout
    Path("mine.py").write_text("BLOCK = 256\n")
    result = against("--max-slowdown", "2%")
    assert result.exit_code == 1
    assert "slower" in result.stdout
    assert against("--max-slowdown", "150%").exit_code == 0


def test_a_wrong_candidate_ends_with_1() -> None:
    Path("mine.py").write_text("BLOCK = 512\n# fails: wrong\n")
    result = against()
    assert result.exit_code == 1
    assert "wrong: the source says that it fails" in result.stdout


def test_junit_has_a_test_for_each_case() -> None:
    Path("mine.py").write_text("BLOCK = 256\n")
    against("--junit", "out.xml")
    suite = ElementTree.parse("out.xml").getroot()
    assert suite.attrib == {
        "name": "kernelwright bench double", "tests": "2", "failures": "2", "errors": "0", "skipped": "0",
    }  # fmt: skip
    assert [test.attrib["name"] for test in suite] == ["big", "odd"]
    assert [test.find("failure") is not None for test in suite] == [True, True]


def test_junit_is_xml_whatever_a_candidate_makes_the_compiler_say() -> None:
    Path("mine.py").write_text("BLOCK = 512\n# fails: wrong\n")

    class Rude(FakeWorker):
        def bench(self, *words, **named):  # type: ignore[no-untyped-def]
            found = super().bench(*words, **named)
            rows = lambda case: tuple(msgspec.structs.replace(row, reason="<\x1b&\x00\ud800") for row in case)  # noqa: E731
            cases = tuple(msgspec.structs.replace(c, implementations=rows(c.implementations)) for c in found.cases)
            return msgspec.structs.replace(found, cases=cases)

    against("--junit", "out.xml", worker=Rude())
    suite = ElementTree.parse("out.xml").getroot()
    assert "\\x1b" in str(suite[0][0].attrib["message"])


def test_without_a_gpu_nothing_was_measured_on_one_line_with_the_status_and_in_junit() -> None:
    result = against("--junit", "out.xml", worker=NO_GPU)
    line = "error: nothing was measured: there is no GPU here (status 2: neither slower nor as fast is known)"
    assert fault(against(worker=NO_GPU)) == line
    assert (result.exit_code, result.stdout, result.stderr.splitlines()[-1]) == (2, "", line)
    suite = ElementTree.parse("out.xml").getroot()
    assert suite.attrib["skipped"] == "2"
    assert suite[0][0].attrib["message"] == "not measured: there is no GPU here"


def test_what_was_not_measured_is_neither_good_nor_bad() -> None:
    text = Path("base.json").read_text().replace("BLOCK = 512", "BLOCK = 512\\n# fails: crashed")
    Path("base.json").write_text(text)
    result = against()
    assert result.exit_code == 2
    assert "not measured: big, odd" in result.stderr


def test_json_is_the_comparison() -> None:
    document = json.loads(against("--json").stdout)
    assert document["baseline"] == "mine"
    assert [case["outcome"] for case in document["cases"]] == ["within", "within"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("mine.py", "mine.py", "--against", "base.json"), "exactly one CANDIDATE"),
        (("--against", "base.json"), "exactly one CANDIDATE"),
        (("mine.py", "--against", "base.json", "--max-autotune"), "the framework is left out"),
        (("mine.py", "--junit", "out.xml"), "needs --against"),
        (("mine.py", "--max-slowdown", "2%"), "needs --against"),
        (("mine.py", "--against", "base.json", "--max-slowdown", "2"), "no percentage such as 2%"),
        (("mine.py", "--against", "base.json", "--max-slowdown", "-2%"), "no percentage such as 2%"),
        (("mine.py", "--against", "base.json", "--max-slowdown", "nan%"), "no percentage such as 2%"),
    ],
)
def test_options_that_make_no_sense_together_are_a_usage_error(words: tuple[str, ...], why: str) -> None:
    result = run("bench", "problem.py", *words)
    assert result.exit_code == 2
    assert why in result.stderr
