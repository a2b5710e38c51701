"""One process: a PyTorch training step of one network, timed. Prints one line of JSON."""

import measure

args = measure.arguments(["eager", "compile"])

import torch  # noqa: E402  (after the arguments, so that mistakes in them are told at once)
from torch import nn  # noqa: E402

imported_mb = measure.peak_rss_mb()


if args.network not in measure.SEQUENCES:
    import torchvision  # noqa: E402
    import torchvision_networks  # noqa: E402


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


class CharLstm(nn.Module):
    """The next character at every position, as our char-lstm learns it."""

    def __init__(self, classes):
        super().__init__()
        self.embedding = nn.Embedding(classes, 64)
        self.lstm = nn.LSTM(64, 256, num_layers=2, dropout=0.2, batch_first=True)
        self.fc = nn.Linear(256, classes)

    def forward(self, numbers):
        return self.fc(self.lstm(self.embedding(numbers))[0]).flatten(0, 1)


NETWORKS = {
    "char-lstm": CharLstm,
    "lenet5": lenet5,
    "alexnet": lambda classes: torchvision.models.alexnet(num_classes=classes),
    "resnet18": lambda classes: torchvision.models.resnet18(num_classes=classes),
    "resnet50": lambda classes: torchvision.models.resnet50(num_classes=classes),
    "resnet18-cifar": resnet18_cifar,
}

torch.set_num_threads(args.threads)
torch.manual_seed(1)
format_ = torch.channels_last if args.layout == "channels_last" else torch.contiguous_format
if args.network in measure.SEQUENCES:
    network = NETWORKS[args.network](measure.CHARACTERS).train()
    images = torch.randint(0, measure.CHARACTERS, (args.batch, args.input))
    labels = torch.randint(0, measure.CHARACTERS, (args.batch * args.input,))
else:
    if args.network in measure.IMPORTED:
        network = torchvision_networks.make(args.network, args.input, measure.CLASSES)
    else:
        network = NETWORKS[args.network](measure.CLASSES)
    network = network.train().to(memory_format=format_)
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


measure.run(step, args.seconds, args.cpu_time, imported_mb=imported_mb,
            framework=f"PyTorch {torch.__version__.split('+')[0]}",
            parameters=sum(p.numel() for p in network.parameters()))
