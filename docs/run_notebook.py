"""Runs docs/notebook.ipynb and writes it with its outputs: `make notebook`. A test compares what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")
PATIENCE_S = 1000
"""Limit for one cell."""


def run_notebook() -> nbformat.NotebookNode:
    """The notebook with new outputs."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    metadata = {"path": str(NOTEBOOK.parent)}
    NotebookClient(notebook, timeout=PATIENCE_S, kernel_name="python3", resources={"metadata": metadata}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":  # progress is no result
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    return notebook


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell of code printed on standard output."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(one.text for one in cell.outputs if one.get("name") == "stdout") for cell in cells]


def main() -> None:
    notebook = run_notebook()
    notebook.metadata = {"language_info": {"name": "python"}}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
