"""One rank of PyTorch's torch.distributed.pipelining with Gloo: see split.py.
   pipeline_replay.py SOCKET RANK RANKS MASTER:PORT

A part either sleeps for the measured times of a micro-batch and sends as many bytes as ours does, or it is
the real part of a network, computed. Speaks lines of JSON with the driver."""
import json
import resource
import socket
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WARM_UP = 2


class Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights, spec):
        ctx.spec, ctx.like = spec, x
        time.sleep(spec["forward"])
        return x.new_zeros(x.shape[0], spec["sends"])

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.spec["backward"])
        return torch.zeros_like(ctx.like), None, None


class Replayed(nn.Module):
    """Its weights' gradients are none: adding them up costs the peer nothing."""

    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        self.weights = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return Sleep.apply(x, self.weights, self.spec)


VGG16E = [64, 64, "M", 128, 128, "M", 256, 256, 256, 256, "M", 512, 512, 512, 512, "M", 512, 512, 512, 512, "M"]


def vgg16e_layers(side, classes):
    """Layers with weights, each with what follows it: the units that our cuts have too."""
    units, channels = [], 3
    for width in VGG16E:
        if width == "M":
            units[-1].append(nn.MaxPool2d(2))
            continue
        units.append([nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()])
        channels = width
    units[-1].append(nn.Flatten())
    features = 512 * (side // 32) ** 2
    units += [[nn.Linear(features, 4096), nn.ReLU(), nn.Dropout()], [nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout()],
              [nn.Linear(4096, classes)]]
    return [nn.Sequential(*unit) for unit in units]


def resnet18_layers(classes):
    import torchvision
    net = torchvision.models.resnet18(num_classes=classes)
    stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool)
    return [stem, net.layer1, net.layer2, net.layer3, nn.Sequential(net.layer4, net.avgpool, nn.Flatten(), net.fc)]


def real_part(spec, rank):
    units = (resnet18_layers(spec["classes"]) if spec["network"] == "resnet18"
             else vgg16e_layers(spec["side"], spec["classes"]))
    ends = [*spec["begins"], len(units)]
    begin = ([0] + spec["begins"])[rank]
    return nn.Sequential(*units[begin:ends[rank]])


def run(spec, rank, ranks):
    """Seconds of a step, and the memory that it took."""
    torch.manual_seed(1)
    parts = spec["parts"]
    real = "side" in spec
    module = real_part(spec, rank) if real else Replayed(parts[rank])
    micro = spec["batch"] // spec["micros"]
    if real:
        x = torch.randn(spec["batch"], 3, spec["side"], spec["side"])
        target = torch.randint(0, spec["classes"], (spec["batch"],))
        loss = nn.functional.cross_entropy
    else:
        x = torch.zeros(spec["batch"], 1, requires_grad=True)
        target = torch.zeros(spec["batch"], 1)

        def loss(output, _):
            return output.sum()
    stage = PipelineStage(module, rank, ranks, torch.device("cpu"))
    schedule = Schedule1F1B(stage, spec["micros"], loss_fn=loss)
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-5, momentum=0.9, fused=True) if real else None
    for step in range(WARM_UP + spec["steps"]):
        if step == WARM_UP:
            dist.barrier()
            start = time.perf_counter()
        if rank == 0:
            schedule.step(x)
        elif rank == ranks - 1:
            schedule.step(target=target, losses=[])
        else:
            schedule.step()
        if real:
            optimizer.step()
            optimizer.zero_grad()
        else:
            time.sleep(parts[rank]["update"])
    seconds = (time.perf_counter() - start) / spec["steps"]
    dist.barrier()
    return {"seconds": seconds, "micro": micro,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def main():
    path, rank, ranks, master = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    lines = control.makefile("rw")

    def say(line):
        print(json.dumps(line), file=lines, flush=True)

    say({"side": "pipelining"})
    dist.init_process_group("gloo", init_method=f"tcp://{master}", rank=rank, world_size=ranks)
    dist.barrier()
    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    say({"rank": rank, "version": f"PyTorch {torch.__version__.split('+')[0]}", "imported": imported})
    for line in lines:
        say(run(json.loads(line), rank, ranks))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
