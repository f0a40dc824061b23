"""Importers: read kernels that other programs found as seeds. Seeds are untrusted, and judged like any candidate.

    table         the importers, and the choice of one for a path
    seed          the result of an importer: candidates with the claims of their source
    remeasured    claimed times next to times measured here

One file per source: kernelagent, openevolve, history, python_file.
"""
