"""Odd values, files, settings, replies and journals, drawn from a seeded random generator. Pure, files aside.

The number of a case decides what it holds, so a case that was flagged can be run again.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path

SECRET = "sk-SECRETSECRETSECRET0123456789"

NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "1e-400",
    "99999999999999999999",
    "9" * 400,
    "9" * 5000,
    "0x10",
    "1_000",
    "٣",
    "1.5",
    "-0.0",
    "true",
    "null",
    "",
]
TEXTS = [
    "",
    " ",
    "a\nb",
    "é",
    "\u202e",
    "\udcff\udcfe",
    "a" * 5000,
    "=",
    "x=",
    "=x",
    "x=1",
    "width=99999999999999999999",
    "width=-1",
    "tuning=1e9",
    "rounds=99999999999999999999",
    "repairs=99999999999999999999",
    "seeds=" + "9" * 400,
    "BLOCK=" + "9" * 400,
    "[]",
    "{}",
    "%s%n",
    "{0}",
    "$HOME",
    "--",
    "-",
    "--help",
    "\x1b[2J",
    "a\rb",
    "../..",
    "~",
    "CON",
    "*",
    "http://",
    "http://[",
    "http://a b/",
    "http://me:pass@localhost:1/",
    "ftp://x",
    "file:///etc/passwd",
    "sm_",
    "sm_0",
    "sm_999999999999",
    "float",
    "float1000",
    "complex64",
    "qint8",
    "__class__",
]
PATHS = [
    "double",
    "double/problem.py",
    "double/starter.py",
    "run",
    "run/journal.db",
    "deep.py",
    "deep.toml",
    "deep.json",
    "binary.bin",
    "empty",
    "fifo",
    "folder",
    "nowhere",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/proc/self/mem",
    "/proc/self/environ",
    ".",
    "..",
    "/",
    "/root/x",
    "a" * 300,
    "loop",
    "latin1.py",
    "surrogate.py",
    "script.py",
    "huge.toml",
    "nul.py",
    "\udcff",
]
ENVIRONMENT = {
    "OPENAI_API_KEY": [
        SECRET,
        SECRET + "\n" + SECRET,
        SECRET + "\r\nX: y",
        "é" + SECRET,
        SECRET + "\udcff",
        SECRET + " x",
    ],
    "ANTHROPIC_API_KEY": [SECRET, SECRET + "\n" + SECRET, "\t" + SECRET + "\x7f"],
    "OPENAI_BASE_URL": ["", "nonsense", f"http://me:{SECRET}@127.0.0.1:9/", f"http://127.0.0.1:9/?key={SECRET}"],
    "MPLBACKEND": ["nonsense", "", "module://nowhere", "tkagg"],
    "COLUMNS": ["0", "-5", "99999999999", "x"],
    "TERM": ["", "dumb", "nonsense"],
    "TMPDIR": ["/nowhere", "/dev/null", ""],
    "HOME": ["/nowhere", ""],
    "HTTP_PROXY": ["nonsense", "http://127.0.0.1:1", "socks5://x"],
    "LC_ALL": ["C", "xx_YY"],
}


def value(chance: random.Random) -> str:
    return chance.choice([*NUMBERS, *TEXTS, *PATHS])


def environment(chance: random.Random) -> dict[str, str]:
    names = chance.sample(list(ENVIRONMENT), chance.choice([0, 1, 1, 2]))
    return {"OPENAI_API_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET} | {
        name: chance.choice(ENVIRONMENT[name]) for name in names
    }


def write_files(folder: Path) -> None:
    """Odd files beside the good ones."""
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "empty").touch()
    (folder / "binary.bin").write_bytes(random.Random(1).randbytes(5000))
    (folder / "deep.py").write_text("class ModelNew: pass\nx = " + "+".join(["1"] * 9000) + "\n")
    (folder / "deep.toml").write_text("option = " + "[" * 5000 + "]" * 5000 + "\n")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "latin1.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (folder / "surrogate.py").write_text("class ModelNew:\n    '''\\ud800'''\n")
    (folder / "nul.py").write_bytes(b"x = 1\0\n")
    (folder / "huge.toml").write_text("seed = 1\n" + "# " + "x" * 3_000_000 + "\n")


# --- settings ----------------------------------------------------------------------------------------------------

FIELDS = [
    "problem",
    "starter",
    "strategy",
    "option",
    "proposer",
    "proposer_option",
    "model",
    "base_url",
    "trials",
    "minutes",
    "tokens",
    "usd",
    "gpu_seconds",
    "seed",
    "in_flight",
    "dtype",
    "control",
    "lessons",
    "unqualified",
    "out",
    "target",
    "colour",
    "Trials",
]
TOML = [
    "1",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "9" * 30,
    "9" * 5000,
    "true",
    '""',
    '"double"',
    "'a\\b'",
    '"\\u0000"',
    '"\\uD800"',
    '"é"',
    "[]",
    "{}",
    "{a = 1}",
    "{a.b.c = {d = 1}}",
    "1979-05-27",
    "07:32:00",
    "0x1F",
    '"""a\nb"""',
    "[" * 60 + "]" * 60,
    "[" * 3000 + "]" * 3000,
    "{a = " * 400 + "1" + "}" * 400,
    '"' + "x" * 100_000 + '"',
    '"beam"',
    '"greedy"',
    '"builtin"',
    '"openai"',
    '"run"',
    "[1, [2]]",
    "''",
]


def settings(chance: random.Random) -> bytes:
    shape = chance.randrange(8)
    if shape == 0:
        return chance.randbytes(chance.randrange(400))
    if shape == 1:
        return (".".join(["a"] * chance.choice([10, 1000, 20_000])) + " = 1\n").encode()
    if shape == 2:
        return ("[" + ".".join(["a"] * chance.choice([10, 5000])) + "]\nx = 1\n").encode()
    lines = [f"{chance.choice(FIELDS)} = {chance.choice(TOML)}" for _ in range(chance.randrange(1, 4))]
    lines += ['problem = "double"'] * chance.randrange(2) + ["trials = 2"] * chance.randrange(2)
    if chance.random() < 0.3:
        lines += [f"[{chance.choice(['option', 'proposer_option', 'other'])}]", f"width = {chance.choice(TOML)}"]
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    return {3: b"\xef\xbb\xbf" + text, 4: text.replace(b"\n", b"\r"), 5: text + b"\0"}.get(shape, text) + b"\n"


# --- replies -----------------------------------------------------------------------------------------------------

CONTENTS = [
    '"\\ud800"',
    '"```python\\nclass ModelNew: pass\\n# \\udfff\\n```"',
    "null",
    "1e400",
    "[]",
    '{"a": 1}',
    '""',
    '"' + "x" * 2_000_000 + '"',
    '"```python\\n' + "(" * 3000 + '```"',
    '"```python\\nclass ModelNew: pass\\nx = ' + "+".join("1" * 4000) + '\\n```"',
    '"\\u0000"',
    '"' + "\\n" * 200_000 + '"',
    '"Expect: ' + "9" * 400 + 'x"',
    '"```' + "a" * 100_000 + '`"',
    '"```python\\nclass ModelNew: pass\\n```\\nNote: \\u001b[2J"',
    '"GOOD"',
]
USAGES = [
    "{}",
    "null",
    "[]",
    '"x"',
    '{"prompt_tokens": 1e400}',
    '{"prompt_tokens": -5, "completion_tokens": NaN}',
    '{"prompt_tokens": ' + "9" * 400 + "}",
    '{"cost": ' + "9" * 400 + "}",
    '{"cost": -1e300}',
    '{"cost": "1"}',
    '{"prompt_tokens": true, "completion_tokens": [1]}',
    '{"prompt_tokens": 10, "completion_tokens": 5}',
    '{"prompt_tokens": 1.5}',
    '{"cost": 1e400, "prompt_tokens": 1}',
]


def reply(chance: random.Random, good: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one answer."""
    content = chance.choice(CONTENTS).replace('"GOOD"', json.dumps(good))
    finish = chance.choice(['"stop"', '"length"', "null", "1", '"\\ud800"', "[]", '"' + "x" * 9999 + '"'])
    choice = f'{{"message": {{"content": {content}}}, "finish_reason": {finish}}}'
    document = f'{{"choices": [{choice}], "usage": {chance.choice(USAGES)}}}'
    body = document.encode()
    shape = chance.randrange(12)
    if shape == 0:
        body = chance.randbytes(chance.choice([0, 1, 50, 5000]))
    elif shape == 1:
        body = body[: chance.randrange(len(body))]
    elif shape == 2:
        flipped = bytearray(body)
        for _ in range(chance.randrange(1, 20)):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        body = bytes(flipped)
    elif shape == 3:
        body = b"[" * chance.choice([100, 900, 100_000]) + b"1"
    elif shape == 4:
        body = document.encode("utf-16")
    elif shape == 5:
        body = json.dumps({"error": {"message": SECRET + " is no key"}}).encode()
    status = chance.choice([200] * 12 + [204, 302, 400, 401, 429, 500, 503, 999])
    headers = {}
    if chance.random() < 0.2:
        name = chance.choice(["Retry-After", "Content-Encoding", "Content-Type", "Location", "Set-Cookie"])
        headers[name] = chance.choice(
            ["0", "-1", "nan", "1e400", "inf", "gzip", "x" * 9000, "Thu, 99 Foo 99999", SECRET]
        )
    return status, headers, body


# --- journals ----------------------------------------------------------------------------------------------------


def damage(file: Path, chance: random.Random) -> None:
    """Change a journal in a way that a disk, a person or an attacker might."""
    shape = chance.randrange(6)
    if shape == 0:
        content = bytearray(file.read_bytes())
        for _ in range(chance.choice([1, 1, 5, 200])):
            at = chance.randrange(len(content))
            content[at] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
    elif shape == 1:
        content_ = file.read_bytes()
        file.write_bytes(content_[: chance.randrange(len(content_))])
    elif shape == 2:
        file.write_bytes(chance.choice([b"", b"SQLite format 3\0" * 100, chance.randbytes(4096)]))
    else:
        for _ in range(chance.choice([1, 1, 2])):
            _sql(file, chance)


def _sql(file: Path, chance: random.Random) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    odd = chance.choice(
        [
            None,
            "",
            "null",
            "[]",
            "{}",
            "1e400",
            "[" * 50_000,
            b"\xff\xfe",
            "9" * 5000,
            5,
            -1,
            2.5,
            "\x00",
            '{"number": 99999999999999999999}',
            '"\\ud800"',
            '{"status": "passed"}',
        ]
    )
    statements: list[tuple[str, tuple[object, ...]]] = [
        ("UPDATE events SET payload = ? WHERE seq = ?", (odd, chance.randrange(1, 40))),
        (
            "UPDATE events SET kind = ? WHERE seq = ?",
            (chance.choice([odd, "told", "asked", "evaluated"]), chance.randrange(1, 40)),
        ),
        ("UPDATE events SET number = ? WHERE seq = ?", (chance.choice([odd, 0, 3, 10**12]), chance.randrange(1, 40))),
        (
            "UPDATE events SET time = ? WHERE seq = ?",
            (chance.choice([odd, "2026-01-01", "9999-99-99"]), chance.randrange(1, 40)),
        ),
        ("DELETE FROM events WHERE seq = ?", (chance.randrange(1, 40),)),
        ("DELETE FROM events WHERE seq > ?", (chance.randrange(1, 40),)),
        ("UPDATE meta SET value = ?", (odd,)),
        ("UPDATE meta SET value = ? WHERE key = 'info'", (odd,)),
        ("DELETE FROM meta", ()),
        ("DELETE FROM blobs", ()),
        ("UPDATE blobs SET bytes = ?", (odd,)),
        ("DROP TABLE events", ()),
        ("DROP TABLE blobs", ()),
        ("DROP TABLE meta", ()),
        ("CREATE VIEW extra AS SELECT * FROM events", ()),
        (
            "UPDATE events SET payload = replace(payload, ?, ?)",
            (
                chance.choice(["0", "1", "passed", "improve", "null", "double", ":"]),
                chance.choice(["9", "", "x", "-", "1e400"]),
            ),
        ),
        ("CREATE TRIGGER t BEFORE INSERT ON events BEGIN DELETE FROM events; END", ()),
    ]
    statement, values = chance.choice(statements)
    try:
        connection.execute(statement, values)
    except (sqlite3.Error, OverflowError):
        pass
    finally:
        connection.close()
