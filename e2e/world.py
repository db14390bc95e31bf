"""One agent's world: a home of its own, two projects, the model server, and rejoin, which finds the agent on its PATH."""

import json
import os
import pwd
import re
import shlex
import shutil
import sqlite3
import subprocess
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path

import installed
import model
from terminal import Terminal

LIMIT = 90  # seconds that one start of a program may take


class Failed(Exception):
    """What a check found wrong."""


class World:
    def __init__(self, client, program, rejoin, root, other=None):
        """Makes the world of an agent. `other` is the agent that gets a briefing, with its program."""
        self.client, self.rejoin_program, self.root, self.other = client, rejoin, Path(root).resolve(), other
        self.program, self.user = program, None
        self.has_only_found = False  # whether the agent was asked to go on with an invented session
        self.home, self.starts = self.root / "home", self.root / "starts"
        names = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
        folders = [self.home / "projects" / name for name in names]
        self.a, self.b, self.c, self.d, self.e, self.f, self.g, self.h, self.i = folders
        for folder in *folders, self.starts, self.root / "bin", self.root / "tmp":
            folder.mkdir(parents=True)
        self.model = model.serve()
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.root}/bin:{installed.path()}", "TMPDIR": str(self.root / "tmp"),
            "TERM": "xterm-256color", "LANG": "C.UTF-8", "USER": "ana", "SHELL": "/bin/sh",
        }
        self.set_up(client, program, self.starts)

    def set_up(self, client, program, starts):
        """Sets an agent up for the model server, and puts it on the PATH."""
        url = f"http://127.0.0.1:{self.model.server_address[1]}"
        for path, text in client.files.items():
            file = self.home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("{url}", url))
        self.environment |= {name: value.replace("{url}", url) for name, value in client.environment.items()}
        # In the agent's place on the PATH: it notes where and how it was started, and becomes the agent.
        doorway = self.root / "bin" / client.program
        doorway.write_text(
            f'#!/bin/sh\n{{ pwd -P; printf "%s\\n" "$@"; }} >{shlex.quote(str(starts))}/$$\n'
            f'exec {shlex.quote(str(program))} "$@"\n')
        doorway.chmod(0o755)

    def set_up_other(self):
        """Sets up the agent that gets a briefing. Returns it, and the folder of its starts."""
        client, program = self.other
        starts = self.root / "starts-of-the-other"
        starts.mkdir()
        self.set_up(client, program, starts)
        return client, starts

    def second(self):
        """Makes another home in which the same agent is set up, as on another machine: the home of another user, if root runs this and
        the agent is one file that another user can start."""
        program, rejoin = self.program.resolve(), self.rejoin_program
        is_one_file = program.open("rb").read(4) == b"\x7fELF"
        if os.geteuid() != 0 or not is_one_file:
            return World(self.client, self.program, rejoin, self.root / "second")
        folder = self.root / "programs"
        folder.mkdir()
        program, rejoin = [Path(shutil.copy(one, folder / name)) for one, name in ((program, self.client.program), (rejoin, "rejoin"))]
        second = World(self.client, program, str(rejoin), self.root / "second")
        second.user = pwd.getpwnam("nobody")
        second.own(second.root)
        self.root.chmod(0o711)
        self.home.chmod(0o700)
        return second

    def identity(self):
        """Returns the options that start a process as the user of this world."""
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}

    def own(self, folder):
        """Gives everything in a folder to the user of this world."""
        if self.user:
            subprocess.run(["chown", "-R", f"{self.user.pw_uid}:{self.user.pw_gid}", folder], check=True)

    def fetch(self, there, here):
        """Copies what is missing here or older than there, as a program does that keeps folders of two machines the same."""
        for file in filter(Path.is_file, there.rglob("*")):
            copy = here / file.relative_to(there)
            if not copy.exists() or copy.stat().st_mtime_ns < file.stat().st_mtime_ns:
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, copy)
        self.own(here)

    def run(self, command, folder, ending=(0,), saying=""):
        """Runs a program and returns what it printed; fails if it does not end, or with another code or without this text."""
        said = shlex.join(map(str, command))
        environment = self.environment | {"PWD": str(folder)}
        try:
            done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, errors="replace", timeout=LIMIT, **self.identity())
        except subprocess.TimeoutExpired:
            raise Failed(f"`{said}` had not ended after {LIMIT} seconds") from None
        if done.returncode not in ending or saying not in done.stdout + done.stderr:
            words = (done.stderr.strip() or done.stdout.strip() or "it printed nothing")[-700:]
            raise Failed(f"`{said}` ended with {done.returncode}: {words}")
        return done.stdout

    def rejoin(self, *arguments, folder=None, ending=(0,), saying=""):
        return self.run([self.rejoin_program, "--no-config", *arguments], folder or self.b, ending, saying)

    def rejoin_later(self, *arguments, ending=(0,), limit=None):
        """An hour later: a session that was written to just now may be in use, and nothing changes it then. With a limit
        in seconds, it is killed after that time."""
        later = (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat(timespec="seconds")
        killer = ["timeout", "-s", "KILL", str(limit)] if limit else []
        environment = ["env", f"REJOIN_NOW={later.replace('+00:00', 'Z')}"]
        command = [*environment, *killer, self.rejoin_program, "--no-config", *arguments]
        return self.run(command, self.b, ending)

    def typed(self, said):
        """Does what a person does who types the `sqlite3 DATABASE <FILE` of an answer."""
        found = re.search(r"`sqlite3 (\S+) <(\S+)`", said)
        if not found:
            raise Failed(f"nothing to type is named: {said}")
        database, script = found.groups()
        with sqlite3.connect(database) as connection:
            connection.executescript(Path(script).read_text().removeprefix(".bail on\n"))

    def agent(self, arguments, prompt, folder, ending=(0,), saying=""):
        filled = [prompt if one == "{}" else one for one in arguments]
        return self.run([self.root / "bin" / self.client.program, *filled], folder, ending, saying)

    def in_terminal(self, arguments, one, folder):
        """Starts the agent in a terminal, to go on with a session."""
        filled = [word.replace("{}", one) for word in arguments]
        return Terminal([self.root / "bin" / self.client.program, *filled], folder, self.environment | {"PWD": str(folder)})

    def running(self):
        """Returns the sessions that rejoin lists as in use, by id."""
        found = json.loads(self.rejoin("list", "--running", "--json"))["sessions"]
        return {one["id"]: one for one in found if one["agent"] == self.client.agent}

    def answered(self):
        """Returns how a start of the agent with a prompt ends that finds its session."""
        return self.client.no_prompt.found if self.client.no_prompt else {}

    def invent(self, folder, prompt, reply):
        """Writes a session and returns its id. Of the first one, the agent must find it in its directory and in no other."""
        client, is_first = self.client.no_prompt, not self.sessions()
        one = client.invent(self.home, folder, prompt, reply)
        for where in (self.a, self.b) if is_first else ():
            is_listed = one in self.agent(client.lists, "", where)
            if is_listed != (where == folder):
                raise Failed(f"the agent {'lists' if is_listed else 'does not list'} the session of {folder} in {where}")
            self.agent(client.resumes, one, where, **(client.found if where == folder else {"ending": (client.refused,)}))
        return one

    def sessions(self):
        self.client.tidy(self.home)
        return self.client.sessions(self.home)

    def listed(self):
        """What rejoin lists, by id."""
        found = json.loads(self.rejoin("list", "--all", "--json"))["sessions"]
        return {one["id"]: one for one in found if one["agent"] == self.client.agent}

    def contents(self):
        """Returns the bytes of every file that records a session of the agent."""
        files = self.client.recorded(self.home)
        logs = [Path(f"{self.home}/{database}-wal") for database in self.client.rows[:1]]
        return {path: path.read_bytes() for path in [*files, *logs] if path.is_file()}

    def started(self, starts=None):
        """Returns every start since the last call: its directory and its arguments."""
        found = []
        for file in sorted((starts or self.starts).iterdir(), key=lambda file: file.stat().st_mtime_ns):
            lines = file.read_text().splitlines()
            found.append((lines[0], lines[1:]))
            file.unlink()
        return found


class Conversation:
    """A session with what was said in it."""

    may_shrink = False  # the agent may delete messages at the next prompt

    def __init__(self, world, folder, begun=None):
        """Makes a session of one turn, unless the one that has this id will be begun."""
        self.world, self.words, self.id = world, [], begun
        if begun:
            return
        if world.client.no_prompt:
            self.id = world.invent(folder, self.prompt(), f"I have heard-{self.words[-1]} of you.")
            return
        before = world.sessions()
        world.agent(world.client.new, self.prompt(), folder)
        made = world.sessions().keys() - before.keys()
        if len(made) != 1:
            raise Failed(f"the agent made {len(made)} sessions of one prompt")
        self.id = made.pop()

    def prompt(self):
        self.words.append(uuid.uuid4().hex[:8])
        return f"Please remember word-{self.words[-1]} for me"

    def goes_on(self, how, folder, program_starts=None):
        """Sends one more prompt through `how`, and holds everything that must be true then."""
        world = self.world
        before, asked = world.sessions(), len(world.model.requests)
        world.started()
        try:
            how(self.prompt())
        except Failed:
            self.words.pop()
            raise
        starts, after = world.started(), world.sessions()
        if program_starts is not None:
            starts = [one for one in starts if one[1][-1:] != ["--version"]]
            if len(starts) != 1:
                raise Failed(f"the agent was started {len(starts)} times, not once")
            where, arguments = starts[0]
            if where != str(folder):
                raise Failed(f"the agent was started in {where}, not in {folder}")
            if not any(one == self.id or one.endswith(f"={self.id}") for one in arguments):
                raise Failed(f"the agent was not given the full id {self.id}: {shlex.join(arguments)}")
        if after.keys() != before.keys():
            raise Failed(f"other sessions than before: {sorted(after.keys() ^ before.keys())}")
        if after[self.id][0] != 1:
            raise Failed(f"the session is in {after[self.id][0]} places")
        if world.client.no_prompt:
            # It was found, as `how` knows from its answer, and has not grown.
            self.words.pop()
            world.has_only_found = True
            return
        if after[self.id][1] <= before[self.id][1] and not self.may_shrink:
            raise Failed("the session did not grow")
        changed = [one for one in before if one != self.id and before[one] != after[one]]
        if changed:
            raise Failed(f"other sessions changed: {changed}")
        wanted = [f"{kind}-{word}" for word in self.words[:-1] for kind in ("word", "heard")] + [f"word-{self.words[-1]}"]
        texts = [model.conversation(body) for body in world.model.requests[asked:]]
        missing = min(([word for word in wanted if word not in text] for text in texts), key=len, default=wanted)
        if missing:
            raise Failed(f"no request of {len(texts)} held the earlier conversation: {len(missing)} of {len(wanted)} words are missing")

    def resume(self, folder, name=None, origin=None):
        """Lets rejoin send one more prompt from another directory."""
        more = ["--", *self.world.client.resumed_with] if self.world.client.resumed_with else []
        how = lambda prompt: self.world.rejoin(
            "resume", name or self.id, "--no-limit", "--prompt", prompt, *more, folder=origin, **self.world.answered())
        self.goes_on(how, folder, program_starts=1)
