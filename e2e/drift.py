"""The shapes of an agent's sessions: record types and keys, tables and columns. A new version of an agent is compared with
those in e2e/shapes.json, which `e2e/run --keep-shapes` adds to.

A shape is the name of a record, such as `*.jsonl user` or `table message`, with its keys or columns. A nested key is
`message.content[].text`. The value of a key that says which sort a record is, such as `type`, is part of the key.
"""

import json
import re
import sqlite3
import tomllib
from pathlib import Path

from model import MODEL

FILE = Path(__file__).resolve().parent / "shapes.json"
DEPTH = 3  # levels of keys
ROWS = 5000  # of a table, in which JSON is looked for
SORTS = ("type", "subtype", "kind", "role", "event", "op")  # keys whose values say which sort a record is
WORD = re.compile(r"[A-Za-z_$][\w.:$/-]{0,40}")
CHOSEN = re.compile(r"\d{3}|-\d|[0-9a-f]{8}|[/@ ]|" + re.escape(MODEL) + "|sample|first|second|third")  # in names that are data
NUMBERS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{6,}|\d+")


def word(value):
    """Returns the sort that a value names, or None if it is data."""
    return value if isinstance(value, str) and WORD.fullmatch(value) and not CHOSEN.search(value) else None


def name_of(record):
    """Returns the sort of a record, such as `response_item/message`."""
    inner = record.get("payload")
    found = [word(record.get(key)) for key in SORTS] + [word(inner.get("type")) if isinstance(inner, dict) else None]
    return "/".join(one for one in found if one)


def keys_of(record, above="", depth=1):
    """Yields every key of a record, and the sorts below its first level."""
    for key, value in record.items():
        path = above + ("*" if CHOSEN.search(key) else key)
        yield path
        if depth > 1 and key in SORTS and word(value):
            yield f"{path}={value}"
        is_list = isinstance(value, list)
        for one in value if is_list else [value]:
            if isinstance(one, dict) and depth < DEPTH:
                yield from keys_of(one, path + ("[]." if is_list else "."), depth + 1)


def parsed(text, loads=json.loads):
    """Returns the objects that a text holds: itself, or those of a list."""
    try:
        value = loads(text)
    except (ValueError, TypeError, RecursionError):
        return []
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def file_name(path):
    """Returns the name of a file, with `*` in place of ids and times."""
    return re.sub(r"\*(?:[-_.:TZ]*\*)+", "*", NUMBERS.sub("*", path.name))


class Shapes(dict):
    """The keys of each record."""

    def add(self, where, record):
        self.setdefault(f"{where} {name_of(record)}".strip(), set()).update(keys_of(record))

    def merge(self, other):
        for name, keys in other.items():
            self.setdefault(name, set()).update(keys)

    def read(self, path):
        """Adds the records of a file; one that is neither JSON, TOML nor SQLite has none."""
        kind = path.suffix
        if kind in (".db", ".sqlite"):
            return self.read_database(path)
        if kind not in (".jsonl", ".json", ".toml"):
            return
        text = path.read_text(errors="replace")
        for part in text.splitlines() if kind == ".jsonl" else [text]:
            for record in parsed(part, tomllib.loads if kind == ".toml" else json.loads):
                self.add(file_name(path), record)

    def read_database(self, path):
        """Adds the tables of a database with their columns, and the JSON in them."""
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            tables = connection.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
            for table, in tables.fetchall():
                columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
                self[f"table {table}"] = set(columns)
                try:
                    rows = connection.execute(f'select * from "{table}" limit {ROWS}').fetchall()
                except sqlite3.Error:
                    continue  # of an extension that Python lacks
                for column, value in ((column, value) for row in rows for column, value in zip(columns, row)):
                    for record in parsed(value) if isinstance(value, str) and value[:1] in ("{", "[") else []:
                        self.add(f"{table}.{column}", record)


def shapes(client, home):
    """Returns the shapes of every session that an agent has in a home; none if the sessions are invented."""
    found = Shapes()
    if client.no_prompt:
        return found
    for path in client.recorded(Path(home)):
        found.read(path)
    return found


def title_of(session):
    """Returns whether a title is the prompt, or what the model said, or missing."""
    title = session["title"]
    return "none" if title is None else "prompt" if "word-" in title or "remember" in title else "model"


def load(file=FILE):
    return json.loads(file.read_text()) if file.exists() else {}


def keep(name, version, seen, title, file=FILE):
    """Adds what a version wrote to the known shapes."""
    known = load(file)
    one = known.setdefault(name, {"versions": [], "title": title, "records": {}})
    one["title"] = title
    one["versions"] = sorted({*one["versions"], version})
    for record, keys in seen.items():
        one["records"][record] = " ".join(sorted({*one["records"].get(record, "").split(), *keys}))
    file.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def top(keys):
    """Returns the keys whose parents are not among them."""
    def parents(key):
        path, _, sort = key.partition("=")
        parts = path.split(".")
        above = {".".join(parts[:count]).removesuffix("[]") for count in range(1, len(parts))}
        return above | {path} if sort else above
    return sorted(key for key in keys if not parents(key) & {*keys})


def differences(known, seen, title):
    """Lists what a version writes that no earlier one wrote."""
    if known is None:
        return ["no shapes of it are kept: `e2e/run --keep-shapes` adds those of the installed version"]
    found = []
    for record, keys in sorted(seen.items()):
        if record not in known["records"]:
            found.append(f"new record `{record}` ({' '.join(top(keys))})")
        elif new := top({*keys} - {*known["records"][record].split()}):
            found.append(f"new in `{record}`: {' '.join(new)}")
    if title != known["title"]:
        found.append(f"the title was {known['title']} and is {title}")
    return found


def failures(said, checks):
    """Lists the checks that fail, those with the same reason together."""
    reasons = {}
    for check in checks:
        result, why = said[check.__name__]
        if result == "failed":
            reasons.setdefault(" ".join(why.split()), []).append(check.__name__)
    return [f"{', '.join(names)} failed ({why})" for why, names in reasons.items()]


def verdict(known, seen, title, failed):
    """Returns what differs: shapes, and checks that failed. Empty if rejoin reads the version as it reads the known ones."""
    if seen is None:
        return failed or ["no session was measured"]
    return failed + differences(known, seen, title)
