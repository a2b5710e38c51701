"""One rank of PyTorch's DistributedDataParallel with Gloo, computing replayed: see scaling.py.
   ddp_replay.py SOCKET RANK RANKS MASTER:PORT

A network is a chain of layers with parameters of the right sizes that sleep for their share of the
measured times. Speaks lines of JSON with the driver."""
import json
import socket
import sys
import time

import torch
import torch.distributed as dist

WARM_UP = 2  # DDP plans its buckets in the first step


class Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer, weights):
        ctx.layer = layer
        time.sleep(layer.forward_s)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.layer.backward_s)
        return gradient, None, ctx.layer.gradient


class Layer(torch.nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.forward_s, self.backward_s = spec["forward"], spec["backward"]
        self.weights = torch.nn.Parameter(torch.zeros(spec["parameters"]))
        self.gradient = torch.zeros(spec["parameters"])

    def forward(self, x):
        return Sleep.apply(x, self, self.weights)


def run(request):
    """Seconds of a step."""
    layers = torch.nn.Sequential(*(Layer(spec) for spec in request["layers"]))
    model = torch.nn.parallel.DistributedDataParallel(layers, gradient_as_bucket_view=True)
    x = torch.zeros(1, requires_grad=True)
    for step in range(WARM_UP + request["steps"]):
        if step == WARM_UP:
            dist.barrier()
            start = time.perf_counter()
        model(x).sum().backward()
        time.sleep(request["update"])
        for layer in layers:
            layer.weights.grad = None
    return (time.perf_counter() - start) / request["steps"]


def main():
    path, rank, ranks, master = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    lines = control.makefile("rw")

    def say(line):
        print(json.dumps(line), file=lines, flush=True)

    say({"side": "ddp"})
    dist.init_process_group("gloo", init_method=f"tcp://{master}", rank=rank, world_size=ranks)
    dist.barrier()
    say({"rank": rank, "version": f"PyTorch {torch.__version__.split('+')[0]}"})
    for line in lines:
        say({"seconds": run(json.loads(line))})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
