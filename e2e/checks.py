"""What must hold of every agent. A check returns nothing, or raises `Failed` or `Skipped`; the next one goes on from there."""

import json
import re
import shlex
import shutil
import time
from pathlib import Path

import model
import terminal
from model import POISON, turns
from world import Conversation, Failed

ROUNDS, FEWER_ROUNDS = 10, 3  # how often the homes take turns
LARGE = 8_000_000  # bytes that are added to a session, in base64
LIMIT = 30  # seconds after which `list --running` must show what a program does


class Skipped(Exception):
    """Why a check does not apply."""


class Checks:
    def __init__(self, world, rounds=ROUNDS):
        self.world, self.rounds = world, rounds
        self.here = Conversation(world, world.a)
        self.there = Conversation(world, world.b)
        self.rewound = None  # a session with turns that were taken back
        world.started()

    def unless_limited(self, check, step):
        """Does what the client itself may stand in the way of."""
        limit = self.world.client.limits.get(check)
        try:
            step()
        except Failed:
            if limit:
                raise Skipped(limit) from None
            raise

    def named(self):
        """`list` names both sessions with their directories"""
        listed = self.world.listed()
        for one, folder in (self.here, self.world.a), (self.there, self.world.b):
            if one.id not in listed:
                raise Failed(f"{one.id} is not listed")
            place = (listed[one.id]["launch_dir"] or {}).get("path")
            if place != str(folder):
                raise Failed(f"{one.id} is listed with {place}, not with {folder}")
        if len(listed) != 2:
            raise Failed(f"{len(listed)} sessions are listed, not 2")

    def read(self):
        """`show` has the prompt, the reply and their number"""
        one = self.there
        shown = json.loads(self.world.rejoin("show", one.id, "--counts", "--transcript", "--json"))
        session = shown["session"]
        counted, right = (session["prompts"], session["replies"]), (1, self.world.client.replies)
        if counted != right:
            raise Failed("{} prompts and {} replies are counted, not {} and {}".format(*counted, *right))
        texts = [(message["role"], message["text"]) for message in shown["messages"]] + [("first", session["first_prompt"] or "")]
        for role, text in ("user", "word"), ("assistant", "heard"), ("first", "word"):
            if not any(role == by and f"{text}-{one.words[0]}" in said for by, said in texts):
                raise Failed({"user": "the prompt", "assistant": "the reply", "first": "the first prompt"}[role] + " is missing")

    def by_id(self):
        """`resume ID` from another directory"""
        self.here.resume(self.world.a)

    def by_prefix(self):
        """`resume` with the start of an id"""
        lengths = (at for at in range(1, len(self.here.id)) if not self.there.id.startswith(self.here.id[:at]))
        length = next(lengths, None)
        if not length:
            raise Skipped("its ids differ in the last character alone")
        self.here.resume(self.world.a, name=self.here.id[:max(length, 8)])

    def restored(self):
        """`archive`, `delete`, `restore`, then `resume`"""
        world, one = self.world, self.here.id
        world.rejoin_later("archive", one)
        # What is in a database, the agent itself removes.
        world.rejoin_later("delete", one, "--yes", *["--via-agent"] * bool(world.client.rows))
        if one in world.sessions() or one in world.listed():
            raise Failed("the session is there after `delete`")
        if self.there.id not in world.sessions():
            raise Failed("another session went with it")
        # The import starts in a directory that the archive alone names.
        trust = ["--trust"] * world.client.carried
        said = world.rejoin_later("restore", one, *trust, ending=(3,) if world.client.by_hand else (0,))
        if world.client.by_hand:
            world.typed(said)
        self.here.resume(world.a)

    def torn(self):
        """a torn last line, then `resume` twice; half a record on the line of another one, `doctor --fix`, then `resume`"""
        if self.world.client.no_prompt:
            raise Skipped(self.world.client.no_prompt.why)
        if not self.world.client.torn:
            raise Skipped("its sessions are not lines of text")
        one = Conversation(self.world, self.world.c)
        file = self.world.client.files_of(self.world.home)[one.id][0]
        last = file.read_bytes().splitlines()[-1]
        with open(file, "ab") as writer:
            writer.write(last[:len(last) // 2])
        if one.id not in self.world.listed():
            raise Failed("the session is not listed any more")
        if self.world.client.mended:
            self.world.rejoin_later("doctor", "--fix", "--check", "torn-transcript", "--yes")
        one.resume(self.world.c)
        one.resume(self.world.c)
        lines = file.read_bytes().splitlines(keepends=True)
        prompt = f"word-{one.words[-1]}".encode()
        at = next(number for number, line in enumerate(lines) if prompt in line)
        lines[at] = lines[at - 1][:len(lines[at - 1]) // 2] + lines[at]
        file.write_bytes(b"".join(lines))
        self.world.rejoin_later("doctor", "--fix", "--check", "bad-lines", "--yes")
        one.resume(self.world.c)

    def duplicate(self):
        """a copy under another project, `doctor --fix`, then `resume`"""
        client, world = self.world.client, self.world
        if not client.twin and not client.elsewhere:
            raise Skipped("no second copy of a session can be planted")
        files = client.files_of(world.home)
        original = files[self.here.id][0]
        folder = world.home / client.elsewhere if client.elsewhere else files[self.there.id][0].parent
        folder.mkdir(parents=True, exist_ok=True)
        twin = folder / original.name
        shutil.copy2(original, twin)
        world.rejoin_later("doctor", "--fix", "--yes", ending=(0, 4))
        if client.sessions(world.home)[self.here.id][0] != 1:
            raise Failed("`doctor --fix` left both copies")
        self.here.resume(world.a)

    def moved(self):
        """the directory renamed, `move OLD NEW`, then `resume`; the same with a link in the old place"""
        world = self.world
        self.new = world.a.with_name("renamed")
        world.a.rename(self.new)
        said = world.rejoin_later("move", world.a, self.new, "--yes", ending=(0, 3) if world.client.carried else (0,))
        if world.client.carried:
            # Where `move` itself keeps the directory, a prompt is refused in these words.
            said += world.rejoin("resume", self.here.id, "--prompt", "x", "--json", ending=(7,))
            for words in f"export {self.here.id}", "import ":
                if f"{world.client.program} {words}" not in said:
                    raise Failed(f"`move` does not say `{world.client.program} {words}`: {said}")
            file = world.root / "exported"
            file.write_text(world.agent(["export", self.here.id], "", world.b))
            world.agent(["import", str(file)], "", self.new)
        place = world.listed()[self.here.id]["launch_dir"]["path"]
        if place != str(self.new):
            raise Failed(f"the session is listed with {place}, not with {self.new}")
        self.unless_limited("moved", lambda: self.here.resume(self.new, origin=world.home))
        if not world.client.carried:
            self.unless_limited("moved", self.linked)

    def linked(self):
        """Moves the directory once more, with a link in its place: `resume` goes on, or names the `move` after which it does."""
        world, old = self.world, self.new
        self.new = old.with_name("linked")
        old.rename(self.new)
        old.symlink_to(self.new)
        try:
            self.here.resume(self.new, origin=world.home)
        except Failed as why:
            if f"rejoin move {old} {self.new}" not in str(why):
                raise
        if world.listed()[self.here.id]["launch_dir"]["path"] != str(self.new):
            world.rejoin_later("move", old, self.new, "--yes")
            self.here.resume(self.new, origin=world.home)

    def found(self):
        """the agent itself goes on in the new directory"""
        world = self.world
        if not world.client.again:
            raise Skipped(world.client.why_not_again)
        again = lambda prompt: world.agent(world.client.again, prompt, self.new, **world.answered())
        self.unless_limited("found", lambda: self.here.goes_on(again, self.new))

    def running(self):
        """`list --running` shows the process, while it waits and while it works"""
        world, how = self.world, self.world.client.terminal
        if world.client.no_prompt:
            raise Skipped(world.client.no_prompt.why)
        if not how:
            raise Skipped(world.client.why_not_running)
        one = Conversation(world, world.d, how.begins)
        if how.prepare:
            how.prepare(world.home, world.d)
        screen = world.in_terminal(how.arguments, one.id, world.d)
        try:
            if how.from_prompt:
                screen.wait_until_quiet(LIMIT, how.ready)
            else:
                self.shows(one, screen, "waiting", "before a prompt")
                screen.wait_until_quiet(LIMIT)
            asked = len(world.model.requests)
            world.model.goes_on.clear()
            screen.type(one.prompt())
            self.waits_for_model(one, screen, asked)
            self.shows(one, screen, "working", "while the model is asked")
            # It is not on its way to another state.
            time.sleep(1)
            self.shows(one, screen, "working", "while the model is still asked", is_patient=False)
            world.model.goes_on.set()
            self.shows(one, screen, "waiting", "after the answer")
        finally:
            world.model.goes_on.set()
            screen.end()
        self.waits_until_unused(one)

    def waits_until_unused(self, one):
        """Waits until rejoin lists no process of a session; fails if it still does after a while."""
        until = time.monotonic() + LIMIT
        while self.world.running().get(one.id, {}).get("liveness") == "live":
            if time.monotonic() > until:
                raise Failed("the session is in use after its process ended")
            time.sleep(0.5)

    def waits_for_model(self, one, screen, asked):
        """Waits until the agent has asked the model; fails if it never does."""
        until = time.monotonic() + LIMIT
        while not any(f"word-{one.words[-1]}" in model.conversation(body) for body in self.world.model.requests[asked:]):
            if time.monotonic() > until or screen.has_ended():
                raise Failed(f"the typed prompt did not reach the model; the terminal shows: {screen.text()[-300:]}")
            time.sleep(0.2)

    def shows(self, one, screen, state, when, is_patient=True):
        """Holds that `list --running` shows a session with the process in the terminal and this state."""
        until = time.monotonic() + (LIMIT if is_patient else 0)
        while True:
            running = self.world.running()
            others = [other for other, row in running.items() if other != one.id and row["liveness"] == "live"]
            fault = f"{when}, other sessions are shown as in use: {others}" if others else self.fault(running.get(one.id), screen, state)
            if not fault:
                return
            if time.monotonic() > until or screen.has_ended():
                raise Failed(f"{when}, {fault}; the terminal shows: {screen.text()[-300:]}")
            time.sleep(0.5)

    def fault(self, row, screen, state):
        """Returns what is wrong with a row of `list --running`."""
        if not row:
            return "the session is not listed"
        process = row["process"]
        if row["liveness"] != "live" or process["pid"] not in screen.processes():
            return f"process {process['pid']} is shown as {row['liveness']}, not one of {sorted(screen.processes())} as live"
        started, right = terminal.seconds(process["started_at"]), terminal.started(process["pid"])
        if abs(started - right) > 2:
            return f"the process started at {right}, not at {started}"
        return None if process["state"] == state else f"it is shown as {process['state']}, not as {state}"

    def branches(self):
        """after a rewind in the agent, `show` has the messages that a resume sends, and the other branch"""
        world, how = self.world, self.world.client.rewind
        if world.client.no_prompt:
            raise Skipped(world.client.no_prompt.why)
        if not how:
            raise Skipped(world.client.why_no_branches)
        one = Conversation(world, world.e)
        one.resume(world.e)
        one.resume(world.e)
        taken_back, one.words = one.words[1:], one.words[:1]
        if how.adds:
            how.adds(world.client.files_of(world.home)[one.id][0])
            one.resume(world.e)
        else:
            self.rewind(one, how)
        kept, others = both(one.words), both(taken_back)
        shown = self.shown(one, "--transcript")
        if shown != kept:
            raise Failed(f"`show --transcript` has {shown}, not {kept}")
        listed = json.loads(world.rejoin("show", one.id, "--branches", "--json"))["branches"]
        if [branch["active"] for branch in listed] != [True, False]:
            raise Failed(f"`show --branches` lists {len(listed)} branches, not the active one and another")
        other = self.shown(one, "--branch", "2", "--transcript")
        if other != both(one.words[:1]) + others:
            raise Failed(f"`show --branch 2` has {other}, not the first turn and {others}")
        asked = len(world.model.requests)
        one.may_shrink = not how.prompts
        one.resume(world.e)
        last = f"word-{one.words[-1]}"
        sent = [turns(model.conversation(body)) for body in world.model.requests[asked:]]
        if shown + [last] not in sent:
            raise Failed(f"a resume sent {sent}, and `show --transcript` has {shown}")
        self.rewound = one

    def rewind(self, one, how):
        """Takes turns back in the terminal, and sends the next prompt there."""
        world, client = self.world, self.world.client
        arguments, prepare = (how.arguments, how.prepare) if how.arguments else (client.terminal.arguments, client.terminal.prepare)
        if prepare:
            prepare(world.home, world.e)
        screen = world.in_terminal(arguments, one.id, world.e)
        try:
            screen.wait_until_quiet(LIMIT, how.ready)
            if how.types:
                screen.type(how.types)
                screen.wait_until_quiet(LIMIT)
            screen.press(how.keys)
            screen.wait_until_quiet(LIMIT)
            for _ in range(how.prompts):
                asked = len(world.model.requests)
                screen.type(one.prompt())
                self.waits_for_model(one, screen, asked)
                screen.wait_until_quiet(LIMIT)
            # The reply is written later than it is shown.
            until = time.monotonic() + LIMIT
            while how.prompts and not any(f"heard-{one.words[-1]}".encode() in path.read_bytes() for path in client.files_of(world.home)[one.id]):
                if time.monotonic() > until or screen.has_ended():
                    raise Failed(f"the reply after the rewind was not recorded; the terminal shows: {screen.text()[-300:]}")
                time.sleep(0.2)
        finally:
            screen.end()
        self.waits_until_unused(one)

    def shown(self, one, *options):
        """Returns the words of the prompts and replies that `show` prints."""
        messages = json.loads(self.world.rejoin("show", one.id, *options, "--json"))["messages"]
        return turns("\n".join(message["text"] for message in messages if message["role"] in ("user", "assistant")))

    def stuck(self):
        """`doctor` reports a session that the model refuses, and `rewind` makes one that it answers"""
        world = self.world
        if world.client.no_prompt:
            raise Skipped(world.client.no_prompt.why)
        if not world.client.stuck:
            raise Skipped("rejoin does not know the errors that it records")
        one = Conversation(world, world.f)
        for prompt in f"Please read the {POISON}", "And after that?":
            asked = len(world.model.requests)
            world.rejoin("resume", one.id, "--no-limit", "--prompt", prompt, ending=range(256))
            if not any(POISON in model.conversation(body) for body in world.model.requests[asked:]):
                raise Failed("the agent left the refused prompt out by itself")
        original = world.contents()
        answer = json.loads(world.rejoin("doctor", "--check", "stuck-session", "--json", ending=(0, 4)))
        found = [session["id"] for finding in answer["findings"] for session in finding["sessions"]]
        if found != [one.id]:
            raise Failed(f"`doctor` reports {found} as stuck, not {one.id}")
        if world.client.stuck == "refused":
            world.rejoin("rewind", one.id, ending=(7,), saying="go back in the conversation with the agent's own command")
            return self.are_unchanged(original)
        before = world.sessions()
        made = json.loads(world.rejoin("rewind", one.id, "--json"))["items"][0]["id"]
        if world.sessions().keys() - before.keys() != {made}:
            raise Failed(f"`rewind` made {world.sessions().keys() - before.keys()}, and names {made}")
        new = Conversation(world, world.f, made)
        new.words = list(one.words)
        asked = len(world.model.requests)
        new.resume(world.f)
        if any(POISON in model.conversation(body) for body in world.model.requests[asked:]):
            raise Failed("the new session still holds the refused prompt")
        if self.shown(new, "--transcript") != both(new.words):
            raise Failed(f"the new session has {self.shown(new, '--transcript')}, not {both(new.words)}")
        self.are_unchanged(original)

    def slim(self):
        """`rewind --slim` makes a session without a large part, and its resume sends every word"""
        world, client = self.world, self.world.client
        if client.no_prompt:
            raise Skipped(client.no_prompt.why)
        if not client.enlarge:
            raise Skipped("rejoin makes no smaller session of it")
        one = Conversation(world, world.i)
        one.resume(world.i)
        file = client.files_of(world.home)[one.id][0]
        records, data, before = [], "QUJD" * (LARGE // 4), file.stat().st_size
        for record in map(json.loads, file.read_text().splitlines()):
            added = client.enlarge(record, data) if data else None
            records += added or [record]
            data = None if added else data
        for last, record in zip(records, records[1:]):
            # A record that was put between a record and the next one becomes the parent of that one.
            if last.get("type") == "tool.execution_complete":
                record["parentId"] = last["id"]
        file.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))
        original = world.contents()
        made = json.loads(world.rejoin_later("rewind", one.id, "--slim", "--json"))["items"][0]["id"]
        size = client.files_of(world.home)[made][0].stat().st_size
        if size > before + 10_000:
            raise Failed(f"the new session has {size} bytes, the old one had {before} before it was enlarged")
        new = Conversation(world, world.i, made)
        new.words, asked = list(one.words), len(world.model.requests)
        new.resume(world.i)
        texts = [model.conversation(body) for body in world.model.requests[asked:]]
        if not any("removed by `rejoin rewind --slim`" in text for text in texts):
            raise Failed("no request has the line in place of the large part")
        self.are_unchanged(original)

    def with_agent(self):
        """`resume --with` gives another agent the last exchange and a file with the whole conversation"""
        world = self.world
        if not world.other:
            raise Skipped(f"{world.client.briefs} is not installed")
        one, folder = (self.rewound, world.e) if self.rewound else (Conversation(world, world.g), world.g)
        if not self.rewound and not world.client.no_prompt:
            one.resume(folder)
        said, last = both(one.words), one.words[-1]
        original = world.contents()
        other, starts = world.set_up_other()
        world.started()
        asked, prompt = len(world.model.requests), one.prompt()
        world.rejoin("resume", f"{world.client.agent}:{one.id}", "--with", other.agent, "--no-limit", "--prompt", prompt)
        if world.started():
            raise Failed("the session's own agent was started")
        started = [start for start in world.started(starts) if start[1][-1:] != ["--version"]]
        if [where for where, _ in started] != [str(folder)]:
            raise Failed(f"{other.agent} was started in {[where for where, _ in started]}, not once in {folder}")
        texts = [model.conversation(body) for body in world.model.requests[asked:]]
        first = next((text for text in texts if f"word-{one.words[-1]}" in text), "")
        missing = [words for words in both([last]) if words not in first]
        if missing:
            raise Failed(f"the first request of {other.agent} does not hold {', '.join(missing)}")
        file = re.search(r"/[^\s\"`\\]+/rejoin/briefings/[^\s\"`\\]+\.md", first)
        if not file:
            raise Failed(f"the first request of {other.agent} names no file with the conversation")
        # The title and other facts come first.
        messages = Path(file[0]).read_text().partition("\n## ")[2]
        if turns(messages) != said:
            raise Failed(f"{file[0]} has {turns(messages)}, not {said}")
        self.are_unchanged(original)

    def synced(self):
        """`sync` with one archive on two machines, also killed, and `resume` in turn in two homes; then in both at once"""
        world = self.world
        if world.client.no_prompt:
            raise Skipped(world.client.no_prompt.why)
        if world.client.rows and world.client.agent != "opencode":
            raise Skipped("only its agent writes into its database")
        self.unless_limited("synced", self.continue_in_turn)

    def continue_in_turn(self):
        """Lets two homes continue a session in turn, and then each without the other."""
        first, second = self.world, self.world.second()
        archive = {first: first.root / "shared", second: second.root / "shared"}
        one = Conversation(first, first.h)
        syncs = 0

        def sync(world, ending=(0,)):
            """Syncs after the other archive was fetched."""
            other = first if world is second else second
            world.fetch(archive[other], archive[world])
            words = ["sync", "--archive-dir", archive[world], "--dir", world.h]
            nonlocal syncs
            syncs += 1
            if syncs % 2:
                # At another moment each time; a kill leaves 137.
                world.rejoin_later(*words, ending=(*ending, 0, 137, -9), limit=syncs % 23 / 1000 + 0.002)
            said = world.rejoin_later(*words, ending=ending)
            return self.take_in(world, said) if world.client.rows and ending == (0,) else said

        sync(first)
        sync(second)
        here, there = one, Conversation(second, second.h, begun=one.id)
        there.words = one.words
        for _ in range(self.rounds if first.client.agent in ("claude", "codex", "opencode") else FEWER_ROUNDS):
            here, there = there, here
            here.resume(here.world.h)
            sync(here.world)
            sync(there.world)
            listed = there.world.listed().get(one.id)
            if not listed or (listed["launch_dir"] or {}).get("path") != str(there.world.h):
                raise Failed(f"the session is not in {there.world.h} after a sync")
        there.words = [*one.words]
        for conversation in here, there:
            conversation.resume(conversation.world.h)
        sync(here.world)
        if there.world.client.rows:
            # The next sync compares the rows that this one archives.
            sync(there.world, ending=(0, 3))
        before = there.world.contents()
        said = sync(there.world, ending=(3,))
        if "continued separately" not in said:
            raise Failed(f"the sync does not name a session that two homes continued: {said}")
        for path, data in before.items():
            if one.id in str(path) and path.is_file() and path.read_bytes() != data:
                raise Failed(f"{path} changed, though both homes continued it")
        there.resume(there.world.h)

    def take_in(self, world, said):
        """Types the commands that `sync` prints for a session that only its agent can bring here."""
        commands = [one for one in re.findall("`(rejoin [^`]+)`", said) if one.split()[1] in ("delete", "restore")]
        for command in commands:
            words = shlex.split(command)[1:]
            world.rejoin_later(*words, *(["--yes"] if words[0] == "delete" else []))
        return said

    def are_unchanged(self, original):
        """Holds that every file has the bytes that it had."""
        now = self.world.contents()
        changed = [path.name for path, data in original.items() if now.get(path) != data]
        if changed:
            raise Failed(f"these files changed: {', '.join(changed)}")

    ALL = [named, read, by_id, by_prefix, restored, torn, duplicate, moved, found, running, branches, stuck, slim, with_agent, synced]


def both(words):
    """Returns the words of the prompts and of the replies to them."""
    return [f"{kind}-{word}" for word in words for kind in ("word", "heard")]
