"""The table in docs/e2e.md: one row an agent, with the version and the day it was tried."""

import datetime
import json
import subprocess

BEGIN, END = "<!-- made by e2e/run -->\n", "<!-- end -->"


def built(project):
    """Builds rejoin and returns the path of the program."""
    command = ["cargo", "build", "--quiet", "--locked", "--message-format", "json"]
    done = subprocess.run(command, cwd=project, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return next(one["executable"] for one in found if one.get("executable") and one["target"]["name"] == "rejoin")


def write(file, results, checks):
    """Puts the new rows into the page; those of agents that were not tried stay."""
    text = file.read_text()
    start = text.index(BEGIN) + len(BEGIN)
    end = text.index(END, start)
    rows = {line.split("|")[1].strip(): line for line in text[start:end].splitlines()[2:] if line.startswith("|")}
    today = datetime.date.today().isoformat()
    for name, (version, said) in results.items():
        cells = [said[check.__name__][0] for check in checks]
        rows[name] = f"| {' | '.join([name, version, today, *cells])} |"
    head = ["agent", "version", "tried", *(check.__name__.replace("_", " ") for check in checks)]
    table = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *(rows[name] for name in sorted(rows))]
    file.write_text(text[:start] + "\n".join(table) + "\n" + text[end:])
