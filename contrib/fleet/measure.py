#!/usr/bin/env python3
"""Measures the queries of docs/hosts.md: invents a fleet, loads it, asks, and checks each answer against a plain count.

    python3 -m venv venv && venv/bin/pip install duckdb chdb
    venv/bin/python contrib/fleet/measure.py --hosts 1000 --sessions 10000 --dir /tmp/fleet

It needs zstd. It prints the times that docs/hosts.md sums up.
"""

import argparse
import collections
import datetime
import json
import multiprocessing
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
AGENTS = ["claude", "codex", "gemini", "opencode", "amplifier"]
NOW = datetime.datetime(2026, 11, 21, 12)
DAYS = ["2026-11-20", "2026-11-21"]
PROJECTS = 40
# Every so many-th session is also on the next host, is in the archive, and is deleted soon.
SHARED, ARCHIVED, EXPIRING = 500, 3, 20


def name(host):
    return f"host-{host:04}"


def session(host, number):
    """What the session is: its id, agent, directory, size and age in seconds."""
    owner = host if number % SHARED else host - host % 2
    ident = f"{number:08x}-0000-4000-8000-{owner:012x}"
    key = (owner * 2654435761 + number * 40503) & 0xFFFFFFFF
    return ident, AGENTS[number % 5], f"/home/ana/project-{key % PROJECTS}", 2000 + key % 300_000, (key >> 5) % (90 * 86400)


def row(host, number, day):
    ident, agent, path, size, age = session(host, number)
    size += 1000 * day
    at = (NOW - datetime.timedelta(seconds=age)).isoformat() + "Z"
    title = f"Look into the failing test number {number} and repair what it finds"
    file = f"/home/ana/.{agent}/projects/-home-ana-project/{ident}.jsonl"
    return (
        f'{{"agent":"{agent}","id":"{ident}","kind":"main","title":"{title}","first_prompt":"please {title}, then run all of them",'
        f'"launch_dir":{{"path":"{path}","path_bytes_base64":null,"source":"transcript","exists":true}},"start_dir":"{path}",'
        f'"last_dir":"{path}","project":"-home-ana-project","created_at":"{at}","active_at":"{at}","active_source":"transcript",'
        f'"size_bytes":{size},"prompts":null,"replies":null,"tokens":null,"cost_usd":null,"model":"model-large","git_branch":"main","parent_id":null,'
        f'"liveness":"idle","pinned":false,"health":[],"copies":[{{"path":"{file}","path_bytes_base64":null,'
        f'"project":"-home-ana-project","chosen":true,"why":"it is filed under its launch directory","compared":null,'
        f'"diverged_at_record":null,"messages":null,"active_at":"{at}","size_bytes":{size}}}],"pointers":[],"resumable":true,'
        f'"resume":{{"argv":["{agent}","--resume","{ident}"],"dir":"{path}","dir_bytes_base64":null,"unset":[],"set":{{}},'
        f'"then_type":null}}}}\n'
    )


def write(root, table, day, host, lines):
    place = root / table / f"day={day}" / f"host={name(host)}"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "rows.ndjson.zst", "wb") as out:
        with subprocess.Popen(["zstd", "-q", "-1", "-c"], stdin=subprocess.PIPE, stdout=out) as packer:
            size = 0
            for line in lines:
                line = line.encode()
                size += len(line)
                packer.stdin.write(line)
            packer.stdin.close()
    return size


def invent(job):
    root, host, sessions = job
    size = 0
    for at, day in enumerate(DAYS):
        # The day before, only a tenth of the hosts wrote: what a query over days reads is not doubled by that.
        if at == 0 and host % 10:
            continue
        size += write(root, "sessions", day, host, (row(host, number, at) for number in range(sessions)))
    named = [session(host, number)[:2] for number in range(sessions)]
    archived = [json.dumps({"agent": agent, "id": ident}) + "\n" for ident, agent in named[::ARCHIVED]]
    soon = [{"agent": agent, "id": ident} for ident, agent in named[::EXPIRING] if agent == "claude"]
    for at, day in enumerate(DAYS):
        if at == 0 and host % 10:
            continue
        # What was about to be deleted on the day before and is gone must count no more.
        gone = [{"agent": "claude", "id": f"gone-{host}"}] if at == 0 else []
        write(root, "archived", day, host, archived)
        write(root, "expiring", day, host, [json.dumps({"code": "expires-soon", "sessions": soon + gone}) + "\n"])
    return size


def expected(hosts, sessions):
    """Counts in plain Python what the queries ask for."""
    space, week, week_hosts, sizes = collections.Counter(), collections.Counter(), collections.defaultdict(set), collections.Counter()
    youngest = min(session(host, number)[4] for host in range(hosts) for number in range(sessions))
    for host in range(hosts):
        for number in range(sessions):
            _, agent, path, size, age = session(host, number)
            space[agent, name(host), path] += size + 1000
            sizes[DAYS[1], agent] += size + 1000
            if host % 10 == 0:
                sizes[DAYS[0], agent] += size
            if age <= youngest + 7 * 86400:
                week[path] += 1
                week_hosts[path].add(host)
    unsafe = sum(1 for number in range(0, sessions, EXPIRING) if number % 5 == 0 and number % ARCHIVED)
    return {
        "Where is a session?": hosts,
        "What is deleted within a week and in no archive?": unsafe,
        "Which sessions are on several hosts?": 2,
        "Where does the space go?": max(space.values()),
        "What was worked on last week?": max(week.values()),
        "How do the sizes grow?": sizes[DAYS[1], "amplifier"],
    }


def told(question, rows, hosts):
    """What an answer says, as a number to be compared."""
    if question == "Where is a session?":
        return hosts if len(rows) == min(20, hosts) else -1
    column = {"What is deleted within a week and in no archive?": 2, "Which sessions are on several hosts?": 2,
              "Where does the space go?": 4, "What was worked on last week?": 1, "How do the sizes grow?": 3}[question]
    return int(rows[0][column])


def queries(engine):
    text = (HERE / engine / "queries.sql").read_text()
    parts = re.split(r"^-- name: (.*)\n", text, flags=re.M)[1:]
    return list(zip(parts[::2], (part.strip().rstrip(";") for part in parts[1::2])))


def statements(path, **values):
    text = re.sub(r"^--.*\n", "", path.read_text(), flags=re.M)
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return [part.strip() for part in text.split(";\n") if part.strip()]


def duckdb_ask(root, memory):
    import duckdb

    engine = duckdb.connect(config={"memory_limit": memory})
    engine.execute(f"SET VARIABLE root = '{root}'")
    for statement in statements(HERE / "duckdb/columns.sql") + statements(HERE / "duckdb/tables.sql"):
        engine.execute(statement)
    return lambda query: engine.execute(query).fetchall()


def clickhouse_ask(root, store):
    from chdb import session as chdb

    engine = chdb.Session(str(store))
    for file in ["columns", "tables"]:
        for statement in statements(HERE / f"clickhouse/{file}.sql"):
            engine.query(statement)
    return engine


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(function, *args):
    """Runs it in a process of its own, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)


def one(engine, root, store, question, query):
    begin = time.monotonic()
    if engine == "duckdb":
        rows = duckdb_ask(root, "4GB")(query)
    else:
        answer = clickhouse_ask(root, store).query(query, "JSONCompact")
        rows = json.loads(answer.bytes())["data"]
    return time.monotonic() - begin, peak(), rows


def load(root, store):
    begin = time.monotonic()
    engine = clickhouse_ask(root, store)
    for day in DAYS:
        setting = None
        for statement in statements(HERE / "clickhouse/load.sql", day=day, root=str(root)):
            if statement.startswith("SET "):
                setting = statement[4:]
                continue
            engine.query(f"{statement} SETTINGS {setting}")
    return time.monotonic() - begin, peak()


def picture(rows):
    """Draws what was worked on last week: a bar a directory."""
    rows, widest = rows[:12], max(int(row[1]) for row in rows[:12])
    height = 28 * len(rows) + 52
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" font-family="monospace" font-size="13">',
        "<style>text{fill:#24292f}.bar{fill:#4a7bb7}@media(prefers-color-scheme:dark){text{fill:#d0d7de}.bar{fill:#6ea8e5}}</style>",
        '<text x="8" y="22" font-weight="bold">What was worked on last week? Sessions of all hosts, by directory</text>',
    ]
    for at, (path, sessions, hosts, _) in enumerate(rows):
        y = 28 * at + 40
        width = 300 * int(sessions) / widest
        parts.append(f'<text x="8" y="{y + 15}">{path}</text><rect class="bar" x="200" y="{y}" width="{width:.0f}" height="20"/>')
        parts.append(f'<text x="{210 + width:.0f}" y="{y + 15}">{int(sessions):,} on {int(hosts):,} hosts</text>')
    return "\n".join(parts + ["</svg>", ""])


def size_of(path):
    return sum(file.stat().st_size for file in pathlib.Path(path).rglob("*") if file.is_file())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--picture", type=pathlib.Path, help="draw an answer to this file")
    parser.add_argument("--keep", action="store_true", help="use the fleet that is there")
    args = parser.parse_args()
    root, store = args.dir.absolute() / "fleet", args.dir.absolute() / "clickhouse"
    if not args.keep:
        shutil.rmtree(root, ignore_errors=True)
        with multiprocessing.Pool() as pool:
            raw = sum(pool.imap_unordered(invent, ((root, host, args.sessions) for host in range(args.hosts))))
        (args.dir / "raw").write_text(str(raw))
    raw = int((args.dir / "raw").read_text())
    shutil.rmtree(store, ignore_errors=True)
    gib = 1024**3
    print(f"{args.hosts} hosts, {args.hosts * args.sessions:,} sessions: {raw / gib:.1f} GiB of JSON, {size_of(root) / gib:.2f} GiB compressed", flush=True)
    seconds, memory = in_a_process(load, root, store)
    print(f"ClickHouse loads it in {seconds:.0f} s with {memory:.0f} MiB, and keeps {size_of(store) / gib:.2f} GiB", flush=True)
    right = expected(args.hosts, args.sessions)
    print("\n| question | ClickHouse | DuckDB, files in place |\n| --- | --- | --- |")
    wrong = 0
    for (question, fast), (_, slow) in zip(queries("clickhouse"), queries("duckdb")):
        cells = []
        for engine, query in [("clickhouse", fast), ("duckdb", slow)]:
            seconds, memory, rows = in_a_process(one, engine, root, store, question, query)
            answer = told(question, rows, args.hosts)
            if answer != right[question]:
                print(f"{engine}: {question} is answered with {answer}, not {right[question]}: {rows[:3]}", file=sys.stderr)
                wrong += 1
            if args.picture and engine == "clickhouse" and question == "What was worked on last week?":
                args.picture.write_text(picture(rows))
            cells.append(f"{seconds:.2f} s, {memory:.0f} MiB")
        print(f"| {question} | {' | '.join(cells)} |", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
