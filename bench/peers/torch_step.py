"""One process: a PyTorch training step of one network, timed. Prints one line of JSON."""

import measure

args = measure.arguments(["eager", "compile"])

import torch  # noqa: E402  (after the arguments, so that mistakes in them are told at once)
import torchvision  # noqa: E402
from torch import nn  # noqa: E402

imported_mb = measure.peak_rss_mb()


def lenet5(classes):
    return nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120), nn.Tanh(),
        nn.Linear(120, 84), nn.Tanh(),
        nn.Linear(84, classes))


def resnet18_cifar(classes):
    network = torchvision.models.resnet18(num_classes=classes)
    network.conv1 = nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
    network.maxpool = nn.Identity()
    return network


NETWORKS = {
    "lenet5": lenet5,
    "alexnet": lambda classes: torchvision.models.alexnet(num_classes=classes),
    "resnet18": lambda classes: torchvision.models.resnet18(num_classes=classes),
    "resnet50": lambda classes: torchvision.models.resnet50(num_classes=classes),
    "resnet18-cifar": resnet18_cifar,
}

torch.set_num_threads(args.threads)
torch.manual_seed(1)
format_ = torch.channels_last if args.layout == "channels_last" else torch.contiguous_format
network = NETWORKS[args.network](measure.CLASSES).train().to(memory_format=format_)
images = torch.randn(args.batch, 3, args.input, args.input).contiguous(memory_format=format_)
labels = torch.randint(0, measure.CLASSES, (args.batch,))
# The fused update is the fastest of PyTorch's three on a CPU.
optimizer = torch.optim.SGD(network.parameters(), lr=measure.LEARNING_RATE,
                            momentum=measure.MOMENTUM, fused=True)
criterion = nn.CrossEntropyLoss()


def loss_of(x, y):
    # bf16 means master weights in f32, as in our own bf16 training.
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        return criterion(network(x), y)


if args.mode == "compile":
    loss_of = torch.compile(loss_of)


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(images, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


measure.run(step, args.seconds, imported_mb=imported_mb,
            framework=f"PyTorch {torch.__version__.split('+')[0]}",
            parameters=sum(p.numel() for p in network.parameters()))
