"""One process: PyTorch's DataLoader on CIFAR-10 with augmentation, timed. One line of JSON.

v2:      every transform per sample, as torchvision's documentation writes it
v2-late: crop, flip and cutout per sample on u8; conversion and normalisation per batch
batch:   the same by hand for a whole batch with indexing (__getitems__): not what comes
         with PyTorch, but what can be written with it
"""

import os

import pipeline
from cifar10 import CUTOUT, MEAN, PAD, SIDE, STD, load

args = pipeline.arguments(["v2", "v2-late", "batch"])
if args.workers > 0:  # threads that wait actively would take the cores from the workers
    os.environ["OMP_WAIT_POLICY"] = "passive"

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, default_collate  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

torch.set_num_threads(args.threads)
torch.manual_seed(1)

AREA = CUTOUT ** 2 / SIDE ** 2
NORMALIZE = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]


def move():
    return [v2.RandomCrop(SIDE, padding=PAD), v2.RandomHorizontalFlip()]


def cutout(value):
    return v2.RandomErasing(p=1, scale=(AREA, AREA), ratio=(1, 1), value=value)


class Memory(Dataset):
    """Samples in memory, transformed one by one."""

    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.labels[i]


class WholeBatches(Dataset):
    """Samples in memory, a batch transformed at once with parameters of its own per sample."""

    def __init__(self, images, labels):
        padded = nn.functional.pad(images, [PAD] * 4)
        self.windows = padded.unfold(2, SIDE, 1).unfold(3, SIDE, 1)  # [n, 3, 9, 9, 32, 32], a view
        self.labels = torch.tensor(labels)
        self.scale = (1 / (255 * torch.tensor(STD))).view(1, 3, 1, 1)
        self.shift = (torch.tensor(MEAN) / torch.tensor(STD)).view(1, 3, 1, 1)
        self.line = torch.arange(SIDE)

    def __len__(self):
        return len(self.labels)

    def hidden(self, n):
        at = torch.randint(0, SIDE - CUTOUT + 1, (n, 1))
        return (self.line >= at) & (self.line < at + CUTOUT)

    def __getitems__(self, indices):
        i = torch.tensor(indices)
        n = len(i)
        shift = torch.randint(0, 2 * PAD + 1, (2, n))
        x = self.windows[i, :, shift[0], shift[1]]
        x = torch.where(torch.rand(n, 1, 1, 1) < 0.5, x.flip(3), x)
        x = x.float().mul_(self.scale).sub_(self.shift)
        hole = self.hidden(n)[:, None, :, None] & self.hidden(n)[:, None, None, :]
        return x.masked_fill_(hole, 0), self.labels[i]


def data_set():
    """The data set and how a list of its samples becomes a batch (None: as usual)."""
    late = args.pipeline == "v2-late"
    if late:
        transform = v2.Compose([*move(), cutout([round(255 * m) for m in MEAN])])
        finish = v2.Compose(NORMALIZE)
    else:
        transform = v2.Compose([*move(), *NORMALIZE, cutout(0)])

    def collate(samples):
        images, labels = default_collate(samples)
        return finish(images), labels

    if args.folder and args.cache == "none":
        decode = v2.Compose([v2.PILToTensor(), transform])
        return ImageFolder(args.folder, decode), collate if late else None
    if args.folder:  # PyTorch has no cache: a list of what was decoded, shared with the workers
        decoded = ImageFolder(args.folder, v2.PILToTensor())
        samples = [decoded[i] for i in range(len(decoded))]
        images = torch.stack([image for image, _ in samples])
        labels = [label for _, label in samples]
    else:
        images, labels = load(args.arrays)
        images = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
        labels = labels.tolist()
    if args.pipeline == "batch":
        return WholeBatches(images, labels), lambda batch: batch
    return Memory(images, labels, transform), collate if late else None


def trainer():
    network = nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
        nn.Linear(84, 10)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, fused=True)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(x.to(memory_format=torch.channels_last)), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


samples, collate = data_set()
loader = DataLoader(samples, args.batch, shuffle=True, drop_last=True, num_workers=args.workers,
                    persistent_workers=args.workers > 0, collate_fn=collate)
batches = pipeline.endless(loader)
pipeline.check(next(batches)[0], args, (2, 3))
facts = {"framework": f"PyTorch {torch.__version__.split('+')[0]}"}
if args.train:
    pipeline.training(batches, trainer(), args, **facts)
else:
    pipeline.throughput(batches, args, **facts)
