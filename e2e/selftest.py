"""Whether the checks can fail: an imitation of an agent passes all of them with rejoin, and with each program that is wrong
on purpose in place of rejoin it fails the one that is there for that."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from checks import Checks, Skipped
from clients import CLIENTS
from world import Failed, World

HERE = Path(__file__).resolve().parent
# How it is wrong, and the check that must notice; `wrong` says what each does.
WRONG = {
    "list": "named", "resume": "by_id", "elsewhere": "by_id", "twice": "by_id", "anew": "by_id", "prefix": "by_id",
    "delete": "restored", "restore": "restored", "doctor": "duplicate", "move": "moved", "nothing": "named",
}


def failing(rejoin, wrong=None):
    """Returns which checks fail, with the reason."""
    client = next(client for client in CLIENTS if client.name == "claude")
    program = rejoin
    if wrong:
        client = replace(client, environment=client.environment | {"RIGHT": rejoin, "WRONG": wrong})
        program = str(HERE / "wrong")
    found = {}
    with tempfile.TemporaryDirectory(prefix="rejoin-e2e-") as root:
        checks = Checks(World(client, HERE / "imitation", program, root))
        for check in Checks.ALL:
            try:
                check(checks)
            except Skipped as why:
                found[check.__name__] = f"skipped: {why}"
            except (Failed, OSError, AttributeError, KeyError) as why:
                found[check.__name__] = str(why)
    return found


def run(rejoin):
    """Returns whether the checks pass and fail as they must."""
    found = failing(rejoin)
    is_right = not found
    print("rejoin: every check passed" if is_right else f"rejoin: {found}")
    for wrong, check in WRONG.items():
        found = failing(rejoin, wrong)
        noticed = check in found
        is_right = is_right and noticed
        print(f"wrong ({wrong}): " + (f"{check} failed: {found[check][:100]}" if noticed else f"NOT NOTICED by {check}"), flush=True)
    return is_right
