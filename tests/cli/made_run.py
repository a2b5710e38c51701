"""Run directories made by hand, for `syrtos explain` and `syrtos watch`."""
import gzip
import json
import os
import random

PARTS = ["load", "forward", "backward", "update", "network", "wait", "bubble", "evaluate", "checkpoint",
         "other"]
HEADER = "rank,step,steps,start," + ",".join(PARTS) + ",hidden_network"
HOSTS = "abcdefgh"


def usual_step(workers):
    return {"load": 0.004, "forward": 0.040, "backward": 0.086, "update": 0.006,
            "network": 0.055 if workers > 1 else 0, "hidden_network": 0.030 if workers > 1 else 0}


def write(directory, name, text):
    mode = "wb" if isinstance(text, bytes) else "w"
    with open(os.path.join(directory, name), mode) as file:
        file.write(text)


def job_text(workers, network="alexnet", batch=32, epochs=3, exchange="allreduce", sync="join"):
    return (f'network = "{network}"\nbatch = {batch}\nepochs = {epochs}\nprecision = "f32"\n'
            f'[data]\nname = "cifar10"\n[distribute]\nworkers = {workers}\n'
            f'exchange = "{exchange}"\nsync = "{sync}"\nwire = "f32"\n')


def epoch_line(epoch, workers, steps=60):
    line = {"epoch": epoch, "step": steps * epoch, "samples": steps * 32 * workers,
            "train_loss": 2.2 / epoch, "train_accuracy": 1 - 0.7 / epoch, "lr": 0.1 / epoch,
            "test_loss": 2.3 / epoch, "test_accuracy": 1 - 0.72 / epoch,
            "images_per_s": 590.0 + 5 * epoch, "helped": 0.0, "queue": 3.0,
            "seconds": {"load": 0.2, "forward": 2.4, "backward": 5.2, "update": 0.4,
                        "network": 3.3, "evaluate": 0.5}}
    if workers > 1:
        line["workers"] = [{"rank": rank, "host": HOSTS[rank], "seconds": line["seconds"]}
                           for rank in range(workers)]
    return json.dumps(line) + "\n"


def steps_text(steps_of_rank, count=180, seed=1, varies=(0.97, 1.03)):
    """Whoever is early waits for the last, step by step."""
    varied = random.Random(seed)
    rows = [[] for _ in steps_of_rank]
    starts = 0.0
    for step in range(count):
        divisions = []
        for usual in steps_of_rank:
            division = {name: usual.get(name, 0) * varied.uniform(*varies) for name in PARTS}
            division["hidden_network"] = usual.get("hidden_network", 0)
            if step % 60 == 59:
                division["evaluate"] = 0.5
            divisions.append(division)
        sums = [sum(d[name] for name in PARTS) for d in divisions]
        for rank, division in enumerate(divisions):
            division["wait"] += max(sums) - sums[rank]
            values = ",".join(f"{division[name]:.7g}" for name in PARTS)
            rows[rank].append(f"{rank},{step},1,{starts:.9f},{values},"
                              f"{division['hidden_network']:.7g}")
        starts += max(sums)
    return "\n".join([HEADER, *(row for rank in rows for row in rank)]) + "\n"


def hosts_text(workers, seconds=40, slow=None):
    hosts = {}
    for rank in range(workers):
        varied = random.Random(rank)
        hosts[HOSTS[rank]] = [
            {"time": (1000 + second) * 10**9, "seconds": 1.0,
             "user": 0.8 * varied.uniform(0.9, 1.1), "system": 0.05, "iowait": 0.0, "idle": 0.1,
             "memory_used": 3e9 + 1e7 * second, "memory_available": 12e9,
             "network_in": 9e7 * varied.uniform(0.8, 1.1),
             "network_out": 9e7 * varied.uniform(0.8, 1.1),
             "running": 5.0 if rank == slow else 2.0, "processes": 210.0, "rss": 1.5e9,
             "process_cpu": 1.4 if rank == slow else 1.9} for second in range(seconds)]
    return json.dumps(hosts)


def operators_text(slow=1.0):
    def item(layer, operation, kernel, phase, seconds, gflop, megabytes):
        return {"layer": layer, "operation": operation, "kernel": kernel, "phase": phase,
                "calls": 20, "seconds": 20 * seconds, "flops": 20e9 * gflop,
                "bytes": 20e6 * megabytes}
    items = [item("conv1", "conv", "winograd", "forward", 0.004, 0.3, 20),
             item("conv1", "conv.backward_weights", "onednn", "backward", 0.009, 0.3, 25),
             item("conv2", "conv", "winograd", "forward", 0.010, 0.9, 20),
             item("conv2", "conv.backward_weights", "native", "backward", 0.014, 0.9, 20),
             item("conv2", "conv.backward_data", "winograd", "backward", 0.012, 0.9, 20),
             item("norm2", "lrn", "onednn", "forward", 0.003 * slow, 0.01, 16),
             item("norm2", "lrn.backward", "onednn", "backward", 0.004 * slow, 0.02, 24),
             item("pool2", "max_pool", "native", "forward", 0.001, 0.001, 8),
             item("fc6", "matmul", "onednn", "forward", 0.012, 0.4, 151),
             item("fc6", "matmul.backward_weights", "onednn", "backward", 0.020, 0.4, 302),
             item("fc6", "matmul.backward_data", "onednn", "backward", 0.013, 0.4, 151),
             item("fc7", "matmul", "onednn", "forward", 0.006, 0.2, 67),
             item("fc7", "matmul.backward_weights", "onednn", "backward", 0.009, 0.2, 134),
             item("fc8", "matmul", "onednn", "forward", 0.0004, 0.005, 1.6)]
    return json.dumps({"network": "alexnet", "batch": 32, "precision": "f32", "threads": 2,
                       "machine": {"peak_gflops": 110.0, "memory_gb_s": 18.0}, "items": items})


def exchange_text(workers, sync="join"):
    def bucket(first, last, megabytes, ready, arrived, exposed):
        return {"first_layer": first, "last_layer": last, "bytes": 1e6 * megabytes,
                "ready_s": ready, "arrived_s": arrived, "exposed_s": exposed}
    text = {"workers": workers, "exchange": "allreduce", "sync": sync, "wire": "f32",
            "buckets": [bucket("fc8", "fc7", 67, 0.050, 0.070, 0),
                        bucket("fc6", "fc6", 151, 0.075, 0.160, 0.030),
                        bucket("conv5", "conv1", 15, 0.126, 0.185, 0.025)],
            "bytes_sent": 720 * 350e6, "bytes_received": 720 * 350e6, "messages": 720 * 36,
            "clock_error_s": 2.1e-5, "staleness": {}, "plan": {"step": 0.176}}
    if sync == "async":
        text["staleness"] = {"0": 40, "1": 300, "2": 150, "3": 90, "4": 12}
    return json.dumps(text)


def trace_bytes(workers, steps=3):
    """A ring of messages after each step's backward pass, in the form of trace::write_trace."""
    lines = []

    def add(**event):
        lines.append(json.dumps(event, separators=(",", ":")))
    threads = {}
    for rank in range(workers):
        pid = rank + 1
        add(ph="M", name="process_name", pid=pid,
            args={"name": f"rank {rank} on {HOSTS[rank]}", "rank": rank, "host": HOSTS[rank],
                  "clock_error": 21000 if rank else 0})
        for number, track in enumerate(("compute", "receive", "send")):
            tid = threads[rank, track] = workers + 1 + 3 * rank + number
            add(ph="M", name="thread_name", pid=pid, tid=tid,
                args={"name": track, "track": track, "lane": 0, "dropped": 0})
    for step in range(steps):
        for rank in range(workers):
            begin = step * 220000

            def span(track, name, category, start, length, flow=None, phase=None):
                place = {"pid": rank + 1, "tid": threads[rank, track]}
                add(ph="X", name=name, cat=category, ts=begin + start, dur=length, **place)
                if flow is not None:
                    at = start if phase == "s" else start + length - 0.001
                    add(ph=phase, name="message", cat="message", id=hex(flow), ts=begin + at,
                        **place)
            span("compute", "step", "step", 0, 219000)
            at = 0
            for name, length in (("load", 4000), ("forward", 40000), ("backward", 86000),
                                 ("network", 55000), ("update", 6000)):
                span("compute", name, name, at, length)
                at += length
            for round_ in range(2 * (workers - 1)):
                start = 100000 + 13000 * round_
                to, source = (rank + 1) % workers, (rank - 1) % workers

                def flow(a, b):
                    return a << 52 | b << 40 | step * 100 + round_
                span("send", "bucket 1", "exchange", start, 9000, flow(rank, to), "s")
                span("receive", "bucket 1", "exchange", start + 2000, 10000, flow(source, rank),
                     "f")
    text = ('{"displayTimeUnit":"ms","otherData":{"origin_ns":5000000000},\n"traceEvents":[\n' +
            ",\n".join(lines) + "\n]}\n")
    return gzip.compress(text.encode())


def make(directory, workers=4, slow=None, trace=False, **job):
    """A whole run. `slow`: the rank that computes 22 % slower."""
    os.makedirs(directory, exist_ok=True)
    steps = [usual_step(workers) for _ in range(workers)]
    if slow is not None:
        for part in ("forward", "backward", "update"):
            steps[slow][part] *= 1.22
    write(directory, "run.json", '{"format": 1, "program": "syrtos 0.1.0", "made": 1e9}')
    write(directory, "job.toml", job_text(workers, **job))
    write(directory, "metrics.jsonl", "".join(epoch_line(e, workers) for e in (1, 2, 3)))
    write(directory, "steps.csv", steps_text(steps))
    write(directory, "parts.json", json.dumps({"parts": [
        {"first_step": 1, "last_step": 180, "workers": workers,
         "exchange": job.get("exchange", "allreduce"),
         "sync": job.get("sync", "join"), "wire": "f32", "begun": 1.0e9, "ended": 1.0e9 + 40}]}))
    write(directory, "hosts.json", hosts_text(workers, slow=slow))
    write(directory, "operators.json", operators_text())
    if workers > 1:
        write(directory, "exchange.json", exchange_text(workers, job.get("sync", "join")))
    if trace:
        write(directory, "trace.json.gz", trace_bytes(workers))
    return directory
