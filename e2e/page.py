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


def heads(checks):
    return [check.__name__.replace("_", " ") for check in checks]


def write(file, results, checks):
    """Puts the results of the checks into the page. A reason for which an agent answers no prompt is part of its cell."""
    def cell(result, why, reason):
        return f"{result}: {why}" if reason and why == reason else result
    put(file, BEGIN, heads(checks), {name: (version, [cell(*said[check.__name__], reason) for check in checks])
                                     for name, (version, said, reason) in results.items()})


def write_not_tried(file, reasons, checks):
    """Puts the agents that are not tried into both tables, with the reasons."""
    head = heads(checks)
    skipped = {name: f"skipped: {why}" for name, why in reasons.items()}
    put(file, BEGIN, head, {name: ("–", [cell] + ["skipped"] * (len(head) - 1)) for name, cell in skipped.items()}, "–")
    put(file, BEGIN_NEWEST, ["verdict"], {name: ("–", [cell]) for name, cell in skipped.items()}, "–")


def write_newest(file, results):
    """Puts the verdicts about the newest versions into the page."""
    put(file, BEGIN_NEWEST, ["verdict"], {name: (version, [verdict]) for name, (version, verdict) in results.items()})


def put(file, begin, columns, results, tried=None):
    """Puts the new rows into a table of the page; those of agents that were not tried stay."""
    text = file.read_text()
    start = text.index(begin) + len(begin)
    end = text.index(END, start)
    rows = {line.split("|")[1].strip(): line for line in text[start:end].splitlines()[2:] if line.startswith("|")}
    today = tried or datetime.date.today().isoformat()
    for name, (version, cells) in results.items():
        rows[name] = f"| {' | '.join([name, version, today, *(cell.replace('|', '/') for cell in cells)])} |"
    head = ["agent", "version", "tried", *columns]
    table = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *(rows[name] for name in sorted(rows))]
    file.write_text(text[:start] + "\n".join(table) + "\n" + text[end:])
