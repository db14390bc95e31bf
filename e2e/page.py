"""The tables in docs/e2e.md: one row per agent, with the version and the day it was tried."""

import datetime
import json
import subprocess

BEGIN, BEGIN_NEWEST, END = "<!-- made by e2e/run -->\n", "<!-- made by e2e/run --newest -->\n", "<!-- end -->"


def built(project):
    """Builds rejoin and returns the path of the program."""
    command = ["cargo", "build", "--quiet", "--locked", "--message-format", "json"]
    done = subprocess.run(command, cwd=project, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return next(one["executable"] for one in found if one.get("executable") and one["target"]["name"] == "rejoin")


def write(file, results, checks):
    """Puts the results of the checks into the page."""
    head = [check.__name__.replace("_", " ") for check in checks]
    put(file, BEGIN, head, {name: (version, [said[check.__name__][0] for check in checks])
                            for name, (version, said) in results.items()})


def write_newest(file, results):
    """Puts the verdicts about the newest versions into the page."""
    put(file, BEGIN_NEWEST, ["verdict"], {name: (version, [verdict]) for name, (version, verdict) in results.items()})


def put(file, begin, columns, results):
    """Puts the new rows into a table of the page; those of agents that were not tried stay."""
    text = file.read_text()
    start = text.index(begin) + len(begin)
    end = text.index(END, start)
    rows = {line.split("|")[1].strip(): line for line in text[start:end].splitlines()[2:] if line.startswith("|")}
    today = datetime.date.today().isoformat()
    for name, (version, cells) in results.items():
        rows[name] = f"| {' | '.join([name, version, today, *(cell.replace('|', '/') for cell in cells)])} |"
    head = ["agent", "version", "tried", *columns]
    table = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *(rows[name] for name in sorted(rows))]
    file.write_text(text[:start] + "\n".join(table) + "\n" + text[end:])
