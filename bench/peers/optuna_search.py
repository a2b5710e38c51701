"""A search with Optuna, whose trials PyTorch trains: LeNet-5 on Fashion-MNIST, asynchronous halving (ASHA) over the
same space. Prints one line of JSON: the best accuracy found so far against seconds.

Images are tensors in memory, normalised beforehand, so that nothing is loaded within an epoch. Trials are processes
that share a journal, as Optuna's documentation has it for several at once; each has one thread.
"""

import argparse
import json
import multiprocessing
import struct
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the data set's folder, with train.pack and test.pack")
    parser.add_argument("--space", type=json.loads, required=True, help='{"lr": [0.01, 0.1], ...}')
    parser.add_argument("--sampler", choices=["grid", "tpe"], default="grid")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--halving", type=int, default=4)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--journal", type=Path, required=True)
    return parser.parse_args()


def read_pack(path):
    """Samples [n, height, width] in bytes, and their labels (src/syrtos/data/pack/pack.h)."""
    import numpy

    data = path.read_bytes()
    directory, samples, blocks, meta = struct.unpack_from("<4Q", data, len(data) - 64)
    labels = numpy.frombuffer(data, "<i4", samples, directory)
    at = directory + (4 * samples + 7) // 8 * 8
    size = json.loads(data[at + 24 * blocks:at + 24 * blocks + meta])
    shape = (size["height"], size["width"])
    places = [struct.unpack_from("<2Q", data, at + 24 * n) for n in range(blocks)] + [(0, samples)]
    parts = [numpy.frombuffer(data, "u1", (after - first) * shape[0] * shape[1], offset)
             for (offset, first), (_, after) in zip(places, places[1:])]
    return numpy.concatenate(parts).reshape(samples, *shape), labels


def train(trial, args, data):
    import optuna
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(1)
    values = {name: trial.suggest_categorical(name, choices) for name, choices in args.space.items()}
    network = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
        nn.Linear(84, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=values["lr"], momentum=values["momentum"])
    loss_of = nn.CrossEntropyLoss(label_smoothing=values.get("label_smoothing", 0.0))
    x, y, x_test, y_test = data
    best = 0.0
    for epoch in range(1, args.epochs + 1):
        network.train()
        for batch in torch.randperm(len(x)).split(values["batch"]):
            optimizer.zero_grad(set_to_none=True)
            loss_of(network(x[batch]), y[batch]).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            right = sum((network(part).argmax(1) == label).sum().item()
                        for part, label in zip(x_test.split(1000), y_test.split(1000)))
        best = max(best, right / len(x_test))
        trial.set_user_attr(f"at {epoch}", [time.time(), best])
        trial.report(best, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return best


def storage_of(args):
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    return JournalStorage(JournalFileBackend(str(args.journal)))


def work(args, number):
    import optuna
    import torch

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    arrays = [*read_pack(args.data / "train.pack"), *read_pack(args.data / "test.pack")]
    mean, deviation = arrays[0].mean() / 255, arrays[0].std() / 255
    x, x_test = (torch.from_numpy(((a / 255 - mean) / deviation).astype("float32")).unsqueeze(1)
                 for a in (arrays[0], arrays[2]))
    y, y_test = (torch.from_numpy(a.astype("int64")) for a in (arrays[1], arrays[3]))
    study = optuna.load_study(study_name="lenet5", storage=storage_of(args), sampler=sampler_of(args, number),
                              pruner=pruner_of(args))
    stop = optuna.study.MaxTrialsCallback(args.trials, states=None)
    study.optimize(lambda trial: train(trial, args, (x, y, x_test, y_test)), callbacks=[stop])


def sampler_of(args, number):
    import optuna
    if args.sampler == "grid":
        return optuna.samplers.GridSampler(args.space, seed=1)
    return optuna.samplers.TPESampler(seed=1 + number)


def pruner_of(args):
    import optuna
    if args.halving == 0:
        return optuna.pruners.NopPruner()
    return optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=args.halving)


def main():
    args = arguments()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    optuna.create_study(study_name="lenet5", storage=storage_of(args), direction="maximize",
                        sampler=sampler_of(args, 0), pruner=pruner_of(args))
    begun = time.time()
    processes = [multiprocessing.Process(target=work, args=(args, n)) for n in range(args.processes)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = time.time() - begun
    trials = optuna.load_study(study_name="lenet5", storage=storage_of(args)).trials
    points = sorted(point for trial in trials for name, point in trial.user_attrs.items() if name.startswith("at "))
    curve, best = [], 0.0
    for at, value in points:
        if value > best:
            best = value
            curve.append([round(at - begun, 2), value])
    print(json.dumps({"optuna": optuna.__version__, "seconds": seconds, "best": best, "trials": len(trials),
                      "epochs": len(points), "failed": sum(process.exitcode != 0 for process in processes),
                      "curve": curve}))


if __name__ == "__main__":
    main()
