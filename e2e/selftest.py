"""Whether the checks can fail: an imitation of an agent passes all of them with rejoin, and with each program that is wrong
on purpose in place of rejoin it fails the one that is there for that. A record type, a key, a table and a column that no known
version wrote are found, and `e2e/run --newest` fails for them."""

import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import checks
import drift
import installed
from checks import Checks, Skipped
from clients import CLIENTS, NOT_TRIED, NoPrompt, invented
from world import Conversation, Failed, World

HERE = Path(__file__).resolve().parent
# How it is wrong, and the check that must notice; `wrong` says what each does.
WRONG = {
    "list": "named", "show": "read", "resume": "by_id", "elsewhere": "by_id", "twice": "by_id", "anew": "by_id", "prefix": "by_id",
    "delete": "restored", "restore": "restored", "doctor": "duplicate", "move": "moved", "nothing": "named",
    "process": "running", "start": "running", "waits": "running", "works": "running", "ended": "running",
    "all-branches": "branches", "one-branch": "branches", "same-branch": "branches",
    "unseen": "stuck", "rewind": "stuck", "refused-again": "stuck", "changed": "stuck",
    "own": "with_agent", "astray": "with_agent", "unbriefed": "with_agent", "half": "with_agent", "touched": "with_agent",
    "sync": "synced", "words": "slim",
}
# These checks take seconds in a terminal, or need another program: only a rejoin that is wrong about one is tried with it.
ALONE = ("running", "branches", "stuck", "slim", "with_agent", "synced")

# The same for an agent that answers no prompt.
WRONG_WITHOUT_PROMPT = ("list", "show", "resume", "elsewhere", "anew", "prefix", "delete", "restore", "doctor", "move")


# What a later version of the imitation writes, as it must be reported.
PLANTED = ["new record `*.jsonl canary` (sessionId sung type)", "new in `*.jsonl user`: planted"]


def imitated():
    return next(client for client in CLIENTS if client.name == "claude")


def without_prompt():
    """An imitation that answers no prompt."""
    client = imitated()
    no_prompt = NoPrompt("it answers none", invented(".claude/projects"), lists=["--list"], resumes=["--resume", "{}", "any"],
                         found={"ending": (1,), "saying": "Not logged in"}, refused=42)
    return replace(client, no_prompt=no_prompt, environment=client.environment | {"IMITATION_LOGGED_OUT": "1"})


def unlisted(rejoin):
    """Returns the agents of rejoin that are neither tried nor declared as not tried."""
    with tempfile.TemporaryDirectory(prefix="rejoin-e2e-") as home:
        command = [rejoin, "--no-config", "--home", home, "agents", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    known = {client.agent for client in CLIENTS} | {*NOT_TRIED}
    return sorted({store["agent"] for store in json.loads(done.stdout)["stores"]} - known)


def failing(rejoin, wrong=None, client=None):
    """Returns which checks fail, with the reason."""
    client = client or imitated()
    program = rejoin
    # A program that is wrong stays wrong.
    checks.LIMIT = 3 if wrong else 30
    if wrong:
        client = replace(client, environment=client.environment | {"RIGHT": rejoin, "WRONG": wrong})
        program = str(HERE / "wrong")
    found = {}
    with tempfile.TemporaryDirectory(prefix="rejoin-e2e-") as root:
        other = next(one for one in CLIENTS if one.name == client.briefs)
        tried = Checks(World(client, HERE / "imitation", program, root, (other, HERE / "imitation")))
        noticing = WRONG.get(wrong)
        is_tried = lambda check: check.__name__ == noticing if noticing in ALONE else check.__name__ not in ALONE
        for check in Checks.ALL if not wrong else filter(is_tried, Checks.ALL):
            try:
                check(tried)
            except Skipped as why:
                found[check.__name__] = f"skipped: {why}"
            except (Failed, OSError, AttributeError, KeyError) as why:
                found[check.__name__] = str(why)
    return found


def shapes_of(rejoin, adds):
    """Returns the shapes of a session of the imitation, or of its later version."""
    client = imitated()
    client = replace(client, environment=client.environment | {"IMITATION_ADDS": "1"} if adds else client.environment)
    with tempfile.TemporaryDirectory(prefix="rejoin-e2e-") as root:
        world = World(client, HERE / "imitation", rejoin, root)
        Conversation(world, world.a)
        return drift.shapes(client, world.home)


def drift_in_lines(rejoin, known):
    """Returns what is wrong with the comparison of records; writes the known shapes into a file."""
    drift.keep("claude", "1", shapes_of(rejoin, False), "none", known)
    shapes = drift.load(known)["claude"]
    same = drift.differences(shapes, shapes_of(rejoin, False), "none")
    if same:
        return f"the same version differs: {same}"
    found = drift.differences(shapes, shapes_of(rejoin, True), "none")
    if found != PLANTED:
        return f"what is planted is reported as {found}"
    if not drift.differences(shapes, {}, "prompt") or not drift.differences(None, {}, "none"):
        return "another title or an agent without known shapes is passed over"
    return None


def drift_in_a_database(folder):
    """Returns what is wrong with the comparison of tables."""
    database = folder / "sessions.db"

    def shapes(statements):
        with sqlite3.connect(database) as connection:
            connection.executescript(statements)
        found = drift.Shapes()
        found.read(database)
        return found

    before = shapes("""create table message (id, data); insert into message values (1, '{"role":"user"}');""")
    drift.keep("claude", "1", before, "none", folder / "of-a-database.json")
    after = shapes("""alter table message add column planted; create table canary (id);
                      insert into message values (2, '{"role":"user","sung":1}', 0);""")
    found = drift.differences(drift.load(folder / "of-a-database.json")["claude"], after, "none")
    wanted = ["new in `message.data user`: sung", "new record `table canary` (id)", "new in `table message`: planted"]
    return None if found == wanted else f"what is planted is reported as {found}"


def put_imitation(folder, version, adds):
    """Installs the imitation, or its later version, where `e2e/run` looks for Claude Code."""
    modules = folder / "claude" / "node_modules"
    manifest, program = modules / "@anthropic-ai" / "claude-code" / "package.json", modules / ".bin" / "claude"
    text = f'#!/bin/sh\n{"IMITATION_ADDS=1" if adds else ""} exec {HERE}/imitation "$@"\n'
    for file, text in (manifest, json.dumps({"version": version})), (program, text):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    program.chmod(0o755)


def start(folder, rejoin, known, mode, registry="http://127.0.0.1:9/"):
    """Runs `e2e/run` with the imitation, out of the reach of any registry but one on loopback."""
    npm = {"npm_config_registry": registry, "npm_config_fetch_retries": "0", "npm_config_cache": str(folder / "cache")}
    command = [sys.executable, HERE / "run", mode, "--keep-page", "--rejoin", rejoin, "--shapes", known, "claude"]
    environment = os.environ | npm | {"REJOIN_E2E_DIR": str(folder)}
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def packed(name, version):
    """Returns the later version of the imitation as a package of npm."""
    program = f'#!/bin/sh\nIMITATION_ADDS=1 exec {HERE}/imitation "$@"\n'
    manifest = json.dumps({"name": name, "version": version, "bin": {"claude": "claude"}})
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for file, text in ("package.json", manifest), ("claude", program):
            info = tarfile.TarInfo(f"package/{file}")
            info.size, info.mode = len(text), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def registry(name, version):
    """Starts a registry of npm on loopback that serves one package."""
    package = packed(name, version)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            is_package = self.path.endswith(".tgz")
            dist = {"tarball": f"http://{self.headers['Host']}/package.tgz", "shasum": hashlib.sha1(package).hexdigest()}
            manifest = {"name": name, "version": version, "bin": {"claude": "claude"}, "dist": dist}
            answer = {"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}
            body = package if is_package else json.dumps(answer).encode()
            is_known = is_package or unquote(self.path).strip("/").startswith(name)
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def drift_from_a_registry(rejoin, folder):
    """Returns what is wrong with `e2e/run --newest` on the day on which a registry has a newer version."""
    if not shutil.which("npm"):
        print("drift: a newer version in a registry is not tried: there is no npm")
        return None
    folder = folder / "with-a-registry"
    known = folder / "known.json"
    put_imitation(folder, "1.0.0", False)
    put_imitation(folder / installed.NEWEST, "1.0.0", False)
    (folder / installed.NODE / "node_modules").mkdir(parents=True)
    kept = start(folder, rejoin, known, "--keep-shapes")
    server = registry(imitated().package, "9.9.9")
    try:
        done = start(folder, rejoin, known, "--newest", f"http://127.0.0.1:{server.server_address[1]}/")
    finally:
        server.shutdown()
    if "cannot wall" in kept.stdout:
        return None
    is_right = done.returncode == 1 and all(words in done.stdout for words in ["claude 9.9.9: differs", *PLANTED])
    return None if is_right else f"it ends with {done.returncode}: {kept.stdout}{kept.stderr}{done.stdout}{done.stderr}"


def drift_of_the_program(rejoin, folder, adds):
    """Returns what is wrong with `e2e/run --keep-shapes` and `--newest` for a version that is there."""
    known = folder / "of-the-program.json"
    put_imitation(folder, "1.0.0", False)
    put_imitation(folder / installed.NEWEST, "9.9.9", adds)
    kept = start(folder, rejoin, known, "--keep-shapes")
    done = start(folder, rejoin, known, "--newest")
    if "cannot wall" in kept.stdout:
        print("drift: `e2e/run --newest` is not tried: this machine cannot wall a program in")
        return None
    wanted = PLANTED if adds else ["as before"]
    is_right = done.returncode == adds and all(words in done.stdout for words in ["claude 9.9.9", *wanted])
    return None if is_right else f"it ends with {done.returncode}: {kept.stdout}{kept.stderr}{done.stdout}{done.stderr}"


def newest_version(folder):
    """Returns what is wrong with the newest version of a package, which npm may print between notes on either side."""
    program = folder / "bin" / "npm"
    program.parent.mkdir()
    program.write_text("""#!/bin/sh
echo 'npm warn config' >&2
echo '"1.10.2"'
echo 'npm notice New major version of npm available! 11.19.1 -> 12.0.0' >&2
""")
    program.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{program.parent}:{before}"
    try:
        found = installed.newest_of("a-package", folder)
    finally:
        os.environ["PATH"] = before
    return None if found == "1.10.2" else f"it is {found}"


def drift_is_found(rejoin):
    """Returns whether everything that is planted is reported, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="rejoin-e2e-") as root:
        folder = Path(root)
        faults = {
            "records": drift_in_lines(rejoin, folder / "of-records.json"),
            "tables": drift_in_a_database(folder),
            "the newest version": newest_version(folder),
            "the same version": drift_of_the_program(rejoin, folder, False),
            "a later version": drift_of_the_program(rejoin, folder, True),
            "a registry": drift_from_a_registry(rejoin, folder),
        }
    for name, fault in faults.items():
        print(f"drift ({name}): " + (f"WRONG: {fault}" if fault else "as it must be"), flush=True)
    return not any(faults.values())


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
    found = failing(rejoin, client=replace(imitated(), environment=imitated().environment | {"IMITATION_SENDS_ALL": "1"}))
    is_right = is_right and list(found) == ["branches"]
    print(f"an agent that sends all branches: {found}")
    found = failing(rejoin, client=without_prompt())
    is_right = is_right and list(found) == ["torn", "running", "branches", "stuck", "slim", "synced"]
    print(f"without a prompt: {found}")
    for wrong in WRONG_WITHOUT_PROMPT:
        noticed = WRONG[wrong] in failing(rejoin, wrong, without_prompt())
        is_right = is_right and noticed
        print(f"without a prompt, wrong ({wrong}): " + ("as it must be" if noticed else f"NOT NOTICED by {WRONG[wrong]}"), flush=True)
    untold = unlisted(rejoin)
    print(f"not tried and not declared: {', '.join(untold) or 'none'}")
    return drift_is_found(rejoin) and is_right and not untold
