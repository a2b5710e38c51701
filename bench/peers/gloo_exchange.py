"""One rank of an all-reduce by Gloo, through torch.distributed: see exchange.py.
   gloo_exchange.py SOCKET RANK RANKS MASTER:PORT

Speaks lines of JSON with the driver, as bench/exchange/control.h says."""
import json
import resource
import socket
import sys
import time

import torch
import torch.distributed as dist

PERIOD = 251


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def interface_bytes():
    with open("/proc/self/net/dev") as file:
        return sum(int(line.split(":")[1].split()[8]) for line in file if ":" in line)


def blocks(values):
    for at in range(0, len(values), 4096 * PERIOD):
        yield values[at:at + 4096 * PERIOD]


def measure(request, rank, ranks, values):
    one = torch.arange(1, PERIOD + 1, dtype=torch.float32).repeat(4096)
    expected = (ranks * one + 1.5 * ranks * (ranks - 1)) * float(ranks) ** (request["calls"] - 1)
    seconds, cpu, interface, wrong = [], 0.0, 0, 0
    for _ in range(request["batches"]):
        for block in blocks(values):
            block.copy_(one[:len(block)] + 3 * rank)
        dist.barrier()
        interface -= interface_bytes()
        cpu -= cpu_seconds()
        start = time.perf_counter()
        for _ in range(request["calls"]):
            dist.all_reduce(values)
        seconds.append((time.perf_counter() - start) / request["calls"])
        cpu += cpu_seconds()
        interface += interface_bytes()
        dist.barrier()
        wrong += sum(int((block != expected[:len(block)]).sum()) for block in blocks(values))
    return {"seconds": seconds, "cpu": cpu, "interface": interface, "payload": 0, "wrong": wrong}


def main():
    path, rank, ranks, master = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    lines = control.makefile("rw")

    def say(line):
        print(json.dumps(line), file=lines, flush=True)

    say({"side": "gloo"})
    dist.init_process_group("gloo", init_method=f"tcp://{master}", rank=rank, world_size=ranks)
    dist.barrier()
    say({"rank": rank, "version": f"PyTorch {torch.__version__.split('+')[0]}"})
    memory = torch.zeros(0)
    for line in lines:
        request = json.loads(line)
        count = request["bytes"] // 4
        if len(memory) < count:
            memory = torch.zeros(count)
        say(measure(request, rank, ranks, memory[:count]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
