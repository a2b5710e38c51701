"""Processes on the hosts of a cluster that wait for requests: lines of JSON over a socket."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTER = ROOT / "tools" / "cluster"
PATIENCE_S = 120


def on_host(host, words):
    return [str(CLUSTER), "exec", host, "--", *map(str, words)]


class Ranks:
    """The processes of one job. `commands` are words and environment of each, and get PATH, where
    it connects to us, by the name in `path`. Each says who starts it and then who it is."""

    def __init__(self, name, count, path, commands):
        self.name, self.streams = name, []
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        listener.settimeout(PATIENCE_S)
        self.log = open(path + ".log", "w+")
        self.processes = [subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL,
                                           stdout=self.log, stderr=self.log,
                                           env=dict(os.environ, **environment))
                          for words, environment in commands]
        try:
            self.meet(listener, count)
        except (OSError, ValueError) as error:
            self.fail(f"did not come together ({error})")

    def meet(self, listener, count):
        streams = []
        for _ in range(count):
            connection = listener.accept()[0]
            connection.settimeout(PATIENCE_S)
            streams.append(connection.makefile("rw"))
        said = [(json.loads(s.readline()), json.loads(s.readline()), s) for s in streams]
        said.sort(key=lambda one: one[1]["rank"])
        self.streams = [stream for _, _, stream in said]
        self.members = [member for _, member, _ in said]
        if "port" in self.members[0]:
            self.say(self.members)  # they do not know where the others are

    def say(self, line):
        for stream in self.streams:
            print(json.dumps(line), file=stream, flush=True)

    def ask(self, line):
        """All ranks' answers."""
        self.say(line)
        answers = []
        for stream in self.streams:
            try:
                answers.append(json.loads(stream.readline()))
            except (OSError, ValueError) as error:
                self.fail(f"did not answer ({error})")
        return answers

    def fail(self, what):
        self.log.seek(0)
        sys.exit(f"bench: {self.name} {what}:\n{self.log.read()[-2000:]}")

    def end(self):
        for stream in self.streams:
            stream.close()
        for process in self.processes:
            process.wait(timeout=PATIENCE_S)
