#!/usr/bin/env python3
"""torchvision's classification networks, exported by PyTorch and read here: the outputs beside ONNX
Runtime's; all gradients of one batch, and the losses of ten steps of SGD, beside PyTorch's in double
precision, and beside them what PyTorch's own f32 differs by.

  bench/onnx_networks.py [--only resnet18 vit_b_16] [--table FILE]
"""
import argparse
import copy
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
PEERS = os.environ.get("PEERS_PYTHON", os.path.join(SOURCE, "build", "peers", "bin", "python"))
STEP = os.path.join(SOURCE, "build", "release", "bench", "onnx_step")
# Not by what the interpreters' links lead to, which is the same file for all environments.
if os.path.abspath(sys.executable) != os.path.abspath(PEERS) and os.path.exists(PEERS) and __name__ == "__main__":
    os.execv(PEERS, [PEERS, *sys.argv])

import numpy as np  # noqa: E402
import torch  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "peers"))
from torchvision_networks import CLASSES, export, make  # noqa: E402

# The side of the input. PyTorch exports adaptive pooling where its output divides its input.
NETWORKS = {"alexnet": 224, "vgg11": 224, "vgg11_bn": 224, "vgg16": 224, "vgg19": 224, "resnet18": 64,
            "resnet34": 64, "resnet50": 64, "resnet101": 64, "resnext50_32x4d": 64,
            "wide_resnet50_2": 64, "densenet121": 64, "densenet161": 64, "squeezenet1_0": 64,
            "squeezenet1_1": 64, "googlenet": 64, "inception_v3": 96, "mobilenet_v2": 64,
            "mobilenet_v3_small": 64, "mobilenet_v3_large": 64, "mnasnet0_5": 64, "mnasnet1_0": 64,
            "shufflenet_v2_x0_5": 64, "shufflenet_v2_x1_0": 64, "efficientnet_b0": 64,
            "efficientnet_b1": 64, "efficientnet_v2_s": 64, "regnet_x_400mf": 64, "regnet_y_400mf": 64,
            "convnext_tiny": 64, "vit_b_16": 64, "swin_t": 64}
BATCH, BATCHES, STEPS = 8, 4, 10
# Of ten steps; the first at which PyTorch's f32 stays together with its double precision. At higher ones some
# networks make so much of every rounding that there is nothing to compare.
RATES = (1e-2, 1e-3, 1e-4)
BATCH_OF_LARGE = 2
OUTPUTS, GRADIENTS, TOGETHER = 1e-4, 1e-3, 1e-2


def comparable(name, size):
    torch.manual_seed(1)
    net = make(name, size)
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):  # what is random cannot be compared
            module.p = 0.0
        if isinstance(module, torch.nn.BatchNorm2d) and module.affine:
            # Not 1 and 0, which exporters store once for all layers.
            torch.nn.init.uniform_(module.weight, 0.8, 1.2)
            torch.nn.init.uniform_(module.bias, -0.1, 0.1)
    return net


def our_results(path, batch, rate, directory):
    from safetensors.numpy import load_file
    to = os.path.join(directory, "ours.safetensors")
    # Nothing is timed here: threads that wait need not spin.
    threads = str(torch.get_num_threads())
    done = subprocess.run([STEP, path, batch, to, str(rate), str(STEPS)], capture_output=True, text=True,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": threads})
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return load_file(to)


def relative(ours, theirs):
    return float(np.abs(ours - theirs).max() / max(1e-6, np.abs(theirs).max()))


def compare(name, size, directory):
    """The best of a few batches: where a ReLU's input is nearly 0 rounding decides, here or there."""
    net = comparable(name, size)
    paths = [os.path.join(directory, f"{name}-{kind}.onnx") for kind in ("training", "evaluation")]
    for path in paths:
        export(net, size, path, training=path == paths[0])
    best = None
    for seed in range(BATCHES):
        torch.manual_seed(seed)
        images = torch.randn(BATCH if size < 200 else BATCH_OF_LARGE, 3, size, size)
        found = compare_batch(copy.deepcopy(net), images, paths, directory)
        if best is None or found[1] < best[1]:
            best = found
        if is_good(best):
            break
    return best


def compare_batch(net, images, paths, directory):
    import onnxruntime
    from safetensors.numpy import save_file
    labels = torch.arange(len(images)) % CLASSES
    batch = os.path.join(directory, "batch.safetensors")
    save_file({"images": images.numpy(), "labels": labels.numpy().astype(np.float32)}, batch)

    session = onnxruntime.InferenceSession(paths[1], providers=["CPUExecutionProvider"])
    theirs = session.run(None, {"images": images.numpy()})[0]
    for rate in RATES:
        exact_losses, exact = steps_of(copy.deepcopy(net).double(), images.double(), labels, rate)
        losses, rounded = steps_of(copy.deepcopy(net), images, labels, rate)
        if relative(losses, exact_losses) < TOGETHER / 2:
            break
    evaluated = our_results(paths[1], batch, rate, directory)
    trained = our_results(paths[0], batch, rate, directory)
    outputs = max(relative(evaluated["logits"], theirs), relative(trained["logits"], theirs))
    missing = [key for key in exact if f"gradient/{key}" not in trained]
    if missing:
        raise RuntimeError(f"no gradient of {missing[:3]}")
    # Beside the largest of all gradients, in double precision.
    ours = worst({key: trained[f"gradient/{key}"] for key in exact}, exact)
    return (outputs, ours, worst(rounded, exact), relative(trained["losses"], exact_losses),
            relative(losses, exact_losses), rate)


def is_good(found):
    return (found[0] < OUTPUTS and found[1] < max(GRADIENTS, found[2]) and
            found[3] < max(TOGETHER, 2 * found[4]))


def steps_of(net, images, labels, rate):
    """Losses of SGD's steps, and the gradients of the first."""
    net.train()
    losses, gradients = [], {}
    for step in range(STEPS):
        net.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for key, parameter in net.named_parameters():
                if step == 0:
                    gradients[key] = parameter.grad.detach().double().numpy().copy()
                parameter -= rate * parameter.grad
    return np.array(losses), gradients


def worst(gradients, exact):
    scale = max(np.abs(values).max() for values in exact.values())
    return max(float(np.abs(gradients[key] - values).max() / scale) for key, values in exact.items())


def main():
    global STEPS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(NETWORKS))
    parser.add_argument("--table", help="also write the table to this file")
    parser.add_argument("--steps", type=int, default=STEPS, help="of SGD; with 1 outputs and gradients alone say something")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="1 on a machine that is busy")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(options.threads)
    STEPS = options.steps
    lines = ["| network | outputs | gradients | PyTorch's | ten steps | PyTorch's | rate | |",
             "|---|---:|---:|---:|---:|---:|---:|---|"]
    failed = []
    print("\n".join(lines), flush=True)
    for name in options.only:
        with tempfile.TemporaryDirectory() as directory:
            try:
                found = compare(name, NETWORKS.get(name, 64), directory)
                good = is_good(found)
                cells = [f"{number:.1e}" for number in found[:-1]] + [f"{found[-1]:g}", "" if good else "differs"]
                line = f"| {name} | {' | '.join(cells)} |"
            except Exception as error:  # noqa: BLE001: the table goes on
                good, line = False, f"| {name} | | | | | | | {str(error).splitlines()[0][:200]} |"
        if not good:
            failed.append(name)
        lines.append(line)
        print(line, flush=True)
    if options.table:
        with open(options.table, "w") as out:
            out.write("\n".join(lines) + "\n")
    if failed:
        print(f"{len(failed)} of {len(options.only)} differ: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
