"""Finding a problem's files from what a user typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import ProblemError
from kernelwright.problems import find_problem, problems_in
from kernelwright.problems.paths import gallery_problems

GALLERY = Path(__file__).parents[2] / "gallery"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")
    return file


def test_a_file_is_found_with_the_cases_beside_it(tmp_path: Path) -> None:
    file = _write(tmp_path / "36_RMSNorm_.py")
    sidecar = _write(tmp_path / "36_RMSNorm_.cases.json")
    found = find_problem("36_RMSNorm_.py")
    assert (found.name, found.file, found.sidecar, found.is_folder) == ("36_RMSNorm_", file, sidecar, False)


def test_a_starter_beside_a_single_file_belongs_to_nobody(tmp_path: Path) -> None:
    _write(tmp_path / "starter.py")
    _write(tmp_path / "relu.py")
    assert find_problem("relu.py").starter is None


def test_a_folder_is_found_with_its_starter(tmp_path: Path) -> None:
    file = _write(tmp_path / "scan" / "problem.py")
    starter = _write(tmp_path / "scan" / "starter.py")
    found = find_problem("scan")
    assert (found.name, found.file, found.starter, found.sidecar) == ("scan", file, starter, None)
    assert found.is_folder


def test_the_best_kernel_known_lies_in_the_folder_too(tmp_path: Path) -> None:
    _write(tmp_path / "scan" / "problem.py")
    best = _write(tmp_path / "scan" / "best.py")
    _write(tmp_path / "relu.py")
    _write(tmp_path / "best.py")
    assert find_problem("scan").best == best
    assert find_problem("relu.py").best is None


def test_a_folders_problem_file_means_the_folder(tmp_path: Path) -> None:
    _write(tmp_path / "scan" / "problem.py")
    assert find_problem("scan/problem.py") == find_problem("scan")


def test_the_name_of_the_folder_that_we_are_in_is_the_problems_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path / "scan" / "problem.py")
    monkeypatch.chdir(tmp_path / "scan")
    assert find_problem(".").name == "scan"


def test_a_bare_name_is_looked_up_in_the_gallery(tmp_path: Path) -> None:
    file = _write(tmp_path / "gallery" / "softmax" / "problem.py")
    assert find_problem("softmax").file == file


def test_a_bare_name_is_looked_up_where_problems_of_live_modules_are_written(tmp_path: Path) -> None:
    _write(tmp_path / "gallery" / "softmax" / "problem.py")
    file = _write(tmp_path / "problems" / "softmax" / "problem.py")
    assert find_problem("softmax").file == file


def test_a_path_that_exists_wins_over_a_gallery_name(tmp_path: Path) -> None:
    _write(tmp_path / "gallery" / "softmax" / "problem.py")
    own = _write(tmp_path / "softmax" / "problem.py")
    assert find_problem("softmax").file == own


def test_a_miss_lists_what_was_tried_and_the_gallery(tmp_path: Path) -> None:
    _write(tmp_path / "gallery" / "softmax" / "problem.py")
    _write(tmp_path / "gallery" / "matmul" / "problem.py")
    (tmp_path / "gallery" / "notes").mkdir()
    with pytest.raises(ProblemError) as caught:
        find_problem("sofmax")
    said = str(caught.value)
    for expected in ("'sofmax'", "sofmax/problem.py", "gallery/sofmax/problem.py", "matmul, ", "softmax"):
        assert expected in said
    assert "notes" not in said


def test_a_miss_offers_the_gallery_that_comes_with_kernelwright_and_the_name_that_is_alike() -> None:
    with pytest.raises(ProblemError) as caught:
        find_problem("nothing/here.py")
    assert "nothing/here.py" in str(caught.value)
    assert "one of the gallery: add_rms_norm_backward, " in str(caught.value)
    with pytest.raises(ProblemError, match=r"did you mean matmul\?"):
        find_problem("matmull")


def test_a_name_is_looked_up_in_the_gallery_that_comes_with_kernelwright(tmp_path: Path) -> None:
    shipped = find_problem("softmax")
    assert shipped.file == GALLERY / "softmax" / "problem.py"
    assert shipped.best is not None
    own = _write(tmp_path / "gallery" / "softmax" / "problem.py")
    assert find_problem("softmax").file == own


def test_an_empty_name_is_a_miss(tmp_path: Path) -> None:
    _write(tmp_path / "gallery" / "problem.py")
    with pytest.raises(ProblemError, match="no problem at ''"):
        find_problem("")


@pytest.mark.parametrize(
    "name", ['a"b', "a'b", "a`b", "a\\b", "a\nb", "a\tb", "a\x1bb", "a\u202eb", "a\udcffb"], ids=ascii
)
def test_a_name_that_is_not_fit_for_code_is_refused(name: str, tmp_path: Path) -> None:
    for file in (tmp_path / f"{name}.py", tmp_path / "problems" / name / "problem.py"):
        _write(file)
        with pytest.raises(ProblemError, match="a problem cannot be") as error:
            find_problem(str(file))
        assert str(error.value).isprintable()
    assert name not in gallery_problems(tmp_path)
    with pytest.raises(ProblemError, match="a problem cannot be"):
        problems_in("problems")


def test_a_folder_whose_name_is_not_utf_8_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "caf\udce9"
    _write(home / "relu" / "problem.py")
    monkeypatch.chdir(home)
    with pytest.raises(ProblemError, match="its path is text in UTF-8") as error:
        find_problem("relu")
    assert str(error.value).isprintable()
    str(error.value).encode()
