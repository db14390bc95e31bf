"""The tables in docs/e2e.md: one row per agent, with the version and the day it was tried; and the list of agents that are not tried."""

import datetime
import json
import subprocess

BEGIN, BEGIN_NEWEST, END = "<!-- made by e2e/run -->\n", "<!-- made by e2e/run --newest -->\n", "<!-- end -->"
BEGIN_NOT_TRIED = "<!-- made by e2e/run: not tried -->\n"


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


def write_not_tried(file, reasons):
    """Lists the agents that are not tried by their reasons, and removes their rows from both tables."""
    agents = {}
    for name, why in sorted(reasons.items()):
        agents.setdefault(why, []).append(name)
    replace(file, BEGIN_NOT_TRIED, lambda _: [f"* {why}: {', '.join(names)}" for why, names in agents.items()])
    is_tried = lambda line: line.startswith("|") and line.split("|")[1].strip() not in reasons
    for begin in (BEGIN, BEGIN_NEWEST):
        replace(file, begin, lambda lines: [*lines[:2], *filter(is_tried, lines[2:])])


def write_newest(file, results):
    """Puts the verdicts about the newest versions into the page, except those that the first table has, too."""
    put(file, BEGIN_NEWEST, ["verdict"], {name: (version, [verdict]) for name, (version, verdict) in results.items()})
    text = file.read_text()
    first = [cells(line)[:2] for line in text[text.index(BEGIN) + len(BEGIN):].split(END)[0].splitlines()]
    # A note in parentheses is about this version alone.
    is_known = lambda line: cells(line)[:2] in first and cells(line)[3].startswith("as before") and "(" not in line
    replace(file, BEGIN_NEWEST, lambda lines: [*lines[:2], *(line for line in lines[2:] if not is_known(line))])


def cells(line):
    """Splits a row of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def put(file, begin, columns, results):
    """Puts the new rows into a table of the page; those of agents that were not tried stay."""
    today = datetime.date.today().isoformat()
    head = ["agent", "version", "tried", *columns]

    def table(lines):
        rows = {line.split("|")[1].strip(): line for line in lines[2:] if line.startswith("|")}
        for name, (version, cells) in results.items():
            rows[name] = f"| {' | '.join([name, version, today, *(cell.replace('|', '/') for cell in cells)])} |"
        return [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *(rows[name] for name in sorted(rows))]
    replace(file, begin, table)


def replace(file, begin, change):
    """Replaces the lines of a part of the page by those that `change` returns for them."""
    text = file.read_text()
    start = text.index(begin) + len(begin)
    end = text.index(END, start)
    file.write_text(text[:start] + "".join(f"{line}\n" for line in change(text[start:end].splitlines())) + text[end:])
