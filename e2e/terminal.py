"""A terminal for one program: it types what a user would, and reads what the program shows."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from datetime import datetime
from fcntl import ioctl

LIMIT = 20  # seconds that a program may take to show what a key does
ENTER, UP, DOWN = "\r", "\x1b[A", "\x1b[B"
ERASE_LINE = "\x05\x15"  # to the end of the line, and erase to its start

# What programs ask a terminal at their start, and what one answers: where the cursor is, and what it can do.
ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62;22c", b"\x1b[0c": b"\x1b[?62;22c", b"\x1b[5n": b"\x1b[0n",
           b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\", b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"}
CONTROLS = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[\[(][0-9;?<>=]*[A-Za-z@`]|\x1b.|[\x00-\x08\x0b-\x1f]")


def started(process):
    """Returns the start of a process in seconds since 1970, by the kernel."""
    with open(f"/proc/{process}/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    with open("/proc/stat") as file:
        booted = int(next(line for line in file if line.startswith("btime ")).split()[1])
    return booted + ticks / os.sysconf("SC_CLK_TCK")


def seconds(time_in_utc):
    return datetime.fromisoformat(time_in_utc.replace("Z", "+00:00")).timestamp()


class Terminal:
    """A program in a terminal of its own, in a session of its own."""

    def __init__(self, command, folder, environment):
        self.screen, self.shown = b"", threading.Lock()
        self.side, other = pty.openpty()
        ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=other, stdout=other, stderr=other,
                                        start_new_session=True, preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0))
        os.close(other)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Reads what is shown, and answers what a terminal is asked."""
        while True:
            try:
                if not select.select([self.side], [], [], 0.5)[0]:
                    continue
                data = os.read(self.side, 65536)
            except (OSError, ValueError):
                return
            if not data:
                return
            with self.shown:
                self.screen += data
            for question, answer in ANSWERS.items():
                for _ in range(data.count(question)):
                    os.write(self.side, answer)

    def text(self):
        """Returns everything that was shown, without colours and movements."""
        with self.shown:
            return CONTROLS.sub(" ", self.screen.decode(errors="replace"))

    def type(self, text):
        """Types a text, and ends it with Enter. What comes all at once is taken for a paste, in which Enter is a new line; a busy
        program reads everything at once, so Enter comes after it has shown the text."""
        began = size = len(self.screen)
        for letter in text:
            os.write(self.side, letter.encode())
            time.sleep(0.005)
        since = time.monotonic()
        until = since + 5
        while time.monotonic() < until and (size == began or time.monotonic() - since < 0.5):
            if len(self.screen) != size:
                size, since = len(self.screen), time.monotonic()
            time.sleep(0.05)
        os.write(self.side, b"\r")

    def press(self, keys):
        """Presses keys one after the other. Enter or a letter may show something else, in which the next key counts."""
        for key in keys:
            os.write(self.side, key.encode())
            self.wait_until_quiet(LIMIT) if key == ENTER or key.isalpha() else time.sleep(0.3)

    def wait_until_quiet(self, limit, shown=""):
        """Waits until this was shown and nothing more is, as when a program is ready, or until the limit."""
        until, seen, since = time.monotonic() + limit, -1, time.monotonic()
        is_quiet = lambda: seen > 0 and time.monotonic() - since > 1.5 and shown.encode() in self.screen
        while time.monotonic() < until and not is_quiet():
            if len(self.screen) != seen:
                seen, since = len(self.screen), time.monotonic()
            time.sleep(0.1)

    def has_ended(self):
        return self.process.poll() is not None

    def processes(self):
        """Returns the number of every process that was started here, with its children."""
        found, parents = {self.process.pid}, {}
        for one in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{one}/stat") as file:
                    parents[int(one)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
        while more := {one for one, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def end(self):
        """Ends the program as a terminal does that is closed."""
        everyone = self.processes()
        for number in signal.SIGHUP, signal.SIGKILL:
            for one in everyone:
                try:
                    os.kill(one, number)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(5)
                if number == signal.SIGKILL:
                    break
            except subprocess.TimeoutExpired:
                pass
        os.close(self.side)
