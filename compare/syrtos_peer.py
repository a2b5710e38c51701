"""What every adapter of `syrtos compare` shares: the protocol.

An adapter is one Python file. It defines a class with the methods of `Adapter` below and ends with

    if __name__ == "__main__":
        syrtos_peer.serve(Mine)

It is run in the environment of its framework and speaks lines of JSON: a request on standard input, one
answer on standard output. Arrays travel as .npz files whose names are in the requests; images are
[batch, channels, height, width] whatever the framework prefers. Whatever the framework prints goes to
standard error, which `syrtos compare` keeps in a log.

A network comes as a description: {"network", "batch", "image": [channels, height, width], "classes",
"parameters": [{"name", "shape", "decay", "rate"}], "states": [{"name", "shape", "value"}],
"nodes": [{"op", "layer", "inputs", "output", ...}], "logits", "loss"}. Inputs and outputs are names of
values; a node's further entries are its attributes (kernel, stride, pads, epsilon, ...). docs/compare.md
lists the operations.
"""

import json
import os
import platform
import sys
import time
import traceback

import numpy as np


WARM_UP = 3  # steps before those that count: they build, connect and touch memory


class Adapter:
    """The methods that a peer has. `arrays` are dictionaries from names to NumPy arrays."""

    name = "peer"
    double = False  # can compute in float64

    def version(self):
        raise NotImplementedError

    def build(self, description, dtype, threads):
        """Makes the network; dtype is "f32" or "f64". Returns {name: shape} of all parameters and
        states, as they are in the description: where the framework lies them out differently, it is the
        adapter that turns them around."""
        raise NotImplementedError

    def set_weights(self, arrays):
        """Parameters and states (running statistics). Also forgets what optimisers keep."""
        raise NotImplementedError

    def weights(self):
        """Parameters and states."""
        raise NotImplementedError

    def outputs(self, images, labels, masks):
        """Every node's output by its name, the loss among them; training mode."""
        raise NotImplementedError

    def gradients(self, images, labels, masks):
        """The loss and the gradient of every trained parameter. `masks` has for each dropout node, by
        its output's name, what to multiply with: so that both sides drop the same."""
        raise NotImplementedError

    def step(self, images, labels, masks, rule):
        """One training step; returns the loss. rule: {"lr", "momentum", "weight_decay"}: m = momentum m
        + g + decay w; w -= lr m. A parameter's decay is `weight_decay` times its "decay"."""
        raise NotImplementedError

    # Phases 1 to 3; a peer without them is left out there.

    def time_steps(self, images, labels, rule, seconds):
        """One worker alone: a list of {"load", "forward", "backward", "update"} in seconds, one per
        step, for about so long and at least five steps. Dropout draws its own masks."""
        raise NotImplementedError

    def profile(self, images, labels, rule, steps):
        """A list of {"name", "kind", "seconds"}: the framework's own operators, seconds per step; kind
        is one of KINDS."""
        raise NotImplementedError

    def train(self, place, images, labels, rule, steps):
        """Steps of the job together with the others. place: {"rank", "ranks", "hosts": [address...],
        "port", "mode"}. Returns what timed_steps() does."""
        raise NotImplementedError

    modes = ()  # of train(): "sync", "async"


# Names that operators of all peers are mapped onto.
KINDS = ("convolution", "convolution weight gradient", "convolution data gradient",
         "convolution gradient", "dense", "batch norm", "batch norm gradient", "pooling",
         "pooling gradient", "activation", "activation gradient", "loss", "update", "moving data",
         "exchange", "other")


def interface_of(address):
    """The network interface that has this address, for frameworks that ask for a name."""
    import fcntl
    import socket
    import struct
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                told = fcntl.ioctl(probe.fileno(), 0x8915, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # it has none
            if socket.inet_ntoa(told[20:24]) == address:
                return name
    raise RuntimeError(f"no network interface of this host has the address {address}")


def timed_steps(step, count):
    """For train(): takes WARM_UP steps and then so many; their times, and the CPU seconds of one."""
    times = []
    for i in range(WARM_UP + count):
        if i == WARM_UP:
            cpu = sum(os.times()[:2])
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return {"times": times[WARM_UP:], "cpu": (sum(os.times()[:2]) - cpu) / count}


def timed(*actions):
    """Seconds that each of these takes, in turn."""
    marks = [time.perf_counter()]
    for action in actions:
        action()
        marks.append(time.perf_counter())
    return [after - before for before, after in zip(marks, marks[1:])]


def enough(times, start, seconds, least=5, most=1000):
    return len(times) >= most or (len(times) >= least and time.perf_counter() - start >= seconds)


class Server:
    def __init__(self, adapter):
        self.adapter = adapter
        self.dtype = np.float32
        self.batches = {}

    def load(self, file):
        with np.load(file) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def batch(self, request):
        file = request["batch"]
        if file not in self.batches:
            arrays = self.load(file)
            images = np.ascontiguousarray(arrays.pop("images"), dtype=self.dtype)
            labels = arrays.pop("labels").astype(np.int32)
            masks = {name: mask.astype(self.dtype) for name, mask in arrays.items()}
            self.batches[file] = (images, labels, masks)
        return self.batches[file]

    def do_hello(self, request):
        a = self.adapter
        return {"name": a.name, "version": a.version(), "python": platform.python_version(),
                "double": a.double, "modes": list(a.modes)}

    def do_build(self, request):
        self.dtype = np.float64 if request["dtype"] == "f64" else np.float32
        self.batches = {}
        shapes = self.adapter.build(request["description"], request["dtype"], request["threads"])
        return {"shapes": {name: [int(n) for n in shape] for name, shape in shapes.items()}}

    def do_set(self, request):
        arrays = self.load(request["file"])
        self.adapter.set_weights({n: np.asarray(v, dtype=self.dtype) for n, v in arrays.items()})
        return {}

    def save(self, file, arrays):
        np.savez(file, **{n: np.array(v, dtype=self.dtype, order="C") for n, v in arrays.items()})

    def do_get(self, request):
        self.save(request["file"], self.adapter.weights())
        return {}

    def do_outputs(self, request):
        self.save(request["file"], self.adapter.outputs(*self.batch(request)))
        return {}

    def do_gradients(self, request):
        loss, gradients = self.adapter.gradients(*self.batch(request))
        self.save(request["file"], gradients)
        return {"loss": float(loss)}

    def do_step(self, request):
        batch, losses = self.batch(request), []
        for _ in range(request["steps"]):
            losses.append(float(self.adapter.step(*batch, request["rule"])))
        return {"losses": losses}

    def do_time(self, request):
        images, labels, _ = self.batch(request)
        return {"steps": self.adapter.time_steps(images, labels, request["rule"],
                                                 request["seconds"]),
                "memory": peak_memory()}

    def do_profile(self, request):
        images, labels, _ = self.batch(request)
        return {"operators": self.adapter.profile(images, labels, request["rule"],
                                                  request["steps"])}

    def do_train(self, request):
        place = request["place"]
        if place["mode"] not in self.adapter.modes:
            raise NotImplementedError(f'training of mode {place["mode"]}')
        images, labels, _ = self.batch(request)
        sent = bytes_sent()
        done = self.adapter.train(place, images, labels, request["rule"], request["steps"])
        now = bytes_sent()
        return {"steps": done["times"], "steps_taken": len(done["times"]) + WARM_UP,
                "memory": peak_memory(), "cpu": done["cpu"],
                "wire": {name: count - sent.get(name, 0) for name, count in now.items()
                         if count > sent.get(name, 0)}}


def bytes_sent():
    """By every network interface of this host so far."""
    with open("/proc/net/dev") as lines:
        fields = [line.split(":") for line in lines if ":" in line]
    return {name.strip(): int(counts.split()[8]) for name, counts in fields}


def peak_memory():
    """Bytes that this process, or one that it started, had at most."""
    import resource
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return max(int(line.split()[1]) * 1024, others)
    return others


def serve(adapter_class):
    """Answers requests until there are none."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print is no answer
    sys.stdout = sys.stderr
    server = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if server is None:
                server = Server(adapter_class())
            answer = getattr(server, "do_" + request["do"])(request)
        except NotImplementedError as error:
            answer = {"cannot": str(error) or request["do"]}
        except Exception as error:  # told to whoever asked, who names us
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
