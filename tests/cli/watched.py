"""Runs that last until the test ends them, and what they say meanwhile."""
import os
import signal
import subprocess
import threading
import time

from support import BIN, HANGS, SMALL, check, read

LONG = [*SMALL, "--samples", "1000", "--epochs", "100000", "--workers", "3", "--run", "a"]


def until(condition, what):
    end = time.monotonic() + HANGS
    while not condition():
        check(time.monotonic() < end, f"waited {HANGS} s for {what}")
        time.sleep(0.02)


class Run:
    """Its lines, as they come."""

    def __init__(self, directory, *options):
        self.directory = directory
        self.lines = []
        self.process = subprocess.Popen([BIN, "train", *LONG, *options], cwd=directory, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        until(lambda: self.epochs() > 1 or self.process.poll() is not None, "two epochs")

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def text(self):
        return "".join(self.lines)

    def epochs(self):
        try:
            return len(read(self.directory, "a", "metrics.jsonl").splitlines())
        except FileNotFoundError:
            return 0

    def trains_on(self):
        before = self.epochs()
        until(lambda: self.epochs() > before + 1 or self.process.poll() is not None, "more epochs")
        check(self.process.poll() is None, f"it ended:\n{self.text()}")

    def pid_of(self, rank):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    parent = file.read().rpartition(")")[2].split()[1]
                with open(f"/proc/{pid}/cmdline") as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if parent == str(self.process.pid) and any(w.startswith(f"rank={rank},") for w in words):
                return int(pid)
        raise AssertionError(f"no rank {rank}")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=HANGS)
        self.reader.join(timeout=HANGS)
        check(code == 130 and "the position is saved" in self.text(), f"{code}: {self.text()}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(timeout=HANGS)
        subprocess.run(["rm", "-r", os.path.join(self.directory, "a")], check=True)
