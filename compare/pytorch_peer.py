"""PyTorch: eager, channels last, its own profiler; together by DistributedDataParallel over Gloo."""

import os
import time

import numpy as np
import syrtos_peer
import torch
import torch.nn.functional as F

WARM_UP = syrtos_peer.WARM_UP

# Of the profiler's operators those that stand for one of ours; everything else is "other".
KINDS = {
    "aten::mkldnn_convolution": "convolution", "aten::_convolution": "convolution",
    "aten::thnn_conv2d": "convolution", "aten::_slow_conv2d_forward": "convolution",
    "aten::convolution": "convolution", "aten::conv2d": "convolution",
    "aten::convolution_backward": "convolution gradient",
    "aten::mkldnn_convolution_backward": "convolution gradient",
    "aten::addmm": "dense", "aten::mm": "dense", "aten::linear": "dense",
    "aten::native_batch_norm": "batch norm", "aten::batch_norm": "batch norm",
    "aten::native_batch_norm_backward": "batch norm gradient",
    "aten::max_pool2d_with_indices": "pooling", "aten::avg_pool2d": "pooling",
    "aten::mean": "pooling", "aten::adaptive_avg_pool2d": "pooling",
    "aten::_adaptive_avg_pool2d": "pooling",
    "aten::max_pool2d_with_indices_backward": "pooling gradient",
    "aten::avg_pool2d_backward": "pooling gradient",
    "aten::_adaptive_avg_pool2d_backward": "pooling gradient",
    "aten::relu": "activation", "aten::relu_": "activation", "aten::clamp_min": "activation",
    "aten::clamp_min_": "activation", "aten::tanh": "activation", "aten::gelu": "activation",
    "aten::threshold_backward": "activation gradient", "aten::tanh_backward": "activation gradient",
    "aten::gelu_backward": "activation gradient",
    "aten::_log_softmax": "loss", "aten::nll_loss_forward": "loss",
    "aten::_log_softmax_backward_data": "loss", "aten::nll_loss_backward": "loss",
    "aten::_fused_sgd_": "update", "aten::copy_": "moving data", "aten::cat": "moving data",
    "aten::clone": "moving data", "aten::contiguous": "moving data", "aten::add": "other",
}


def split_pads(pads):
    """Symmetric padding, and what has to be added at the ends before it."""
    (top, bottom), (left, right) = pads
    even = (min(top, bottom), min(left, right))
    rest = (left - even[1], right - even[1], top - even[0], bottom - even[0])
    return even, rest if any(rest) else None


class Network(torch.nn.Module):
    def __init__(self, description, dtype):
        super().__init__()
        self.net = description
        for value in description["parameters"]:
            self.register_parameter(self.key(value["name"]), torch.nn.Parameter(
                torch.zeros(value["shape"], dtype=dtype), requires_grad=value["rate"] != 0))
        for value in description["states"]:
            self.register_buffer(self.key(value["name"]), torch.zeros(value["shape"], dtype=dtype))
        self.keep = None  # a dictionary that gets every output
        self.masks = {}

    @staticmethod
    def key(name):
        return "w_" + name.replace(".", "__")

    def find(self, name):
        return getattr(self, self.key(name))

    def forward(self, images, labels):
        values = {"images": images, "labels": labels}

        def value(name):
            return values[name] if name in values else self.find(name)

        for node in self.net["nodes"]:
            operation = getattr(self, "op_" + node["op"], None)
            if operation is None:
                raise NotImplementedError(f'{node["layer"]}: the operation {node["op"]}')
            values[node["output"]] = operation(node, *[value(name) for name in node["inputs"]])
            if self.keep is not None:
                self.keep[node["output"]] = values[node["output"]]
        return values[self.net["loss"]]

    def op_conv(self, node, x, weight, bias=None):
        even, rest = split_pads(node["pads"])
        if rest:
            x = F.pad(x, rest)
        return F.conv2d(x, weight, bias, node["stride"], even, node["dilation"], node["groups"])

    def op_dense(self, node, x, weight, bias=None):
        return F.linear(x, weight, bias)

    def op_bias_add(self, node, x, bias):
        return x + bias.reshape(-1, *[1] * (x.dim() - 2))

    def op_batch_norm(self, node, x, gamma, beta, mean, variance):
        return F.batch_norm(x, mean, variance, gamma, beta, True, node["momentum"], node["epsilon"])

    def op_max_pool(self, node, x):
        even, rest = split_pads(node["pads"])
        if rest or any(2 * p > k for p, k in zip(even, node["kernel"])):
            (top, bottom), (left, right) = node["pads"]
            x, even = F.pad(x, (left, right, top, bottom), value=-np.inf), 0
        return F.max_pool2d(x, node["kernel"], node["stride"], even, node["dilation"])

    def op_average_pool(self, node, x):
        even, rest = split_pads(node["pads"])
        if rest:
            raise NotImplementedError("averages over uneven padding")
        return F.avg_pool2d(x, node["kernel"], node["stride"], even,
                            count_include_pad=node["count_padding"])

    def op_adaptive_pool(self, node, x):
        pool = F.adaptive_avg_pool2d if node["kind"] == "average" else F.adaptive_max_pool2d
        return pool(x, node["size"])

    def op_relu(self, node, x):
        return F.relu(x)

    def op_tanh(self, node, x):
        return torch.tanh(x)

    def op_sigmoid(self, node, x):
        return torch.sigmoid(x)

    def op_gelu(self, node, x):
        return F.gelu(x, approximate="tanh")

    def op_dropout(self, node, x):
        mask = self.masks.get(node["output"])
        return F.dropout(x, node["rate"]) if mask is None else x * mask

    def op_scale(self, node, x):
        return x * node["factor"]

    def op_constant(self, node):
        return torch.full(node["shape"], node["value"], dtype=self.dtype())

    def dtype(self):
        return next(self.parameters()).dtype

    def op_add(self, node, *inputs):
        return sum(inputs[1:], inputs[0])

    def op_concat(self, node, *inputs):
        return torch.cat(inputs, node["axis"])

    def op_reshape(self, node, x):
        return x.reshape(-1, *node["shape"][1:])

    def op_lrn(self, node, x):
        return F.local_response_norm(x, node["size"], node["alpha"], node["beta"], node["k"])

    def op_cross_entropy(self, node, logits, labels):
        return F.cross_entropy(logits, labels, label_smoothing=node["smoothing"]).reshape(1)


class PyTorchPeer(syrtos_peer.Adapter):
    name = "pytorch"
    double = True
    modes = ("sync",)

    def version(self):
        return torch.__version__.split("+")[0]

    def build(self, description, dtype, threads):
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        self.net = description
        self.dtype = torch.float64 if dtype == "f64" else torch.float32
        self.model = Network(description, self.dtype).to(memory_format=torch.channels_last)
        self.model.train()
        self.optimizer = None
        self.names = [v["name"] for v in description["parameters"] + description["states"]]
        return {name: tuple(self.model.find(name).shape) for name in self.names}

    def set_weights(self, arrays):
        with torch.no_grad():
            for name, array in arrays.items():
                self.model.find(name).copy_(torch.from_numpy(np.array(array)))
        self.optimizer = None

    def weights(self):
        return {name: self.model.find(name).detach().contiguous().numpy() for name in self.names}

    def given(self, images, labels, masks=None):
        self.model.masks = {n: torch.from_numpy(m) for n, m in (masks or {}).items()}
        return (torch.from_numpy(images).contiguous(memory_format=torch.channels_last),
                torch.from_numpy(labels).long())

    def outputs(self, images, labels, masks):
        x, y = self.given(images, labels, masks)
        self.model.keep = {}
        with torch.no_grad():
            self.model(x, y)
        kept, self.model.keep = self.model.keep, None
        return {name: value.contiguous().numpy() for name, value in kept.items()}

    def trained(self):
        return {p["name"]: self.model.find(p["name"]) for p in self.net["parameters"]
                if p["rate"] != 0}

    def gradients(self, images, labels, masks):
        x, y = self.given(images, labels, masks)
        self.model.zero_grad(set_to_none=True)
        loss = self.model(x, y)
        loss.backward()
        return loss.item(), {name: p.grad.contiguous().numpy() for name, p in self.trained().items()}

    def prepare(self, rule):
        if self.optimizer is not None:
            return
        groups = {}
        for p in self.net["parameters"]:
            if p["rate"] != 0:
                groups.setdefault((p["decay"], p["rate"]), []).append(self.model.find(p["name"]))
        self.optimizer = torch.optim.SGD(
            [{"params": members, "weight_decay": decay * rule["weight_decay"],
              "lr": rate * rule["lr"]} for (decay, rate), members in groups.items()],
            lr=rule["lr"], momentum=rule["momentum"], fused=True)

    def step(self, images, labels, masks, rule):
        x, y = self.given(images, labels, masks)
        self.prepare(rule)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    # ---- phases 1 to 3 -------------------------------------------------------------------------

    def loader(self, images, labels):
        """The usual one, over a set as large as many batches; what it gives is one batch."""
        class Repeated(torch.utils.data.Dataset):
            def __len__(self):
                return 1 << 20

            def __getitem__(self, i):
                return x[i % len(x)], y[i % len(y)]

        x, y = self.given(images, labels)
        return iter(torch.utils.data.DataLoader(Repeated(), batch_size=len(images)))

    def time_steps(self, images, labels, rule, seconds):
        self.prepare(rule)
        batches = self.loader(images, labels)
        state = {}

        def load():
            x, y = next(batches)
            state["batch"] = (x.contiguous(memory_format=torch.channels_last), y)

        def forward():
            self.optimizer.zero_grad(set_to_none=True)
            state["loss"] = self.model(*state["batch"])

        times, start = [], None
        while start is None or not syrtos_peer.enough(times, start, seconds):
            parts = syrtos_peer.timed(load, forward, lambda: state["loss"].backward(),
                                      self.optimizer.step)
            times.append(dict(zip(("load", "forward", "backward", "update"), parts)))
            if start is None and len(times) == WARM_UP:
                times, start = [], time.perf_counter()
        return times

    def profile(self, images, labels, rule, steps):
        from torch.profiler import ProfilerActivity, profile
        for _ in range(WARM_UP):
            self.step(images, labels, None, rule)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            for _ in range(steps):
                self.step(images, labels, None, rule)
        found = []
        for event in profiler.key_averages():
            seconds = event.self_cpu_time_total / 1e6 / steps
            if seconds > 0:
                kind = KINDS.get(event.key, "update" if event.key.startswith("Optimizer") else "other")
                found.append({"name": event.key, "kind": kind, "seconds": seconds})
        return found

    def train(self, place, images, labels, rule, steps):
        import torch.distributed as dist
        os.environ["GLOO_SOCKET_IFNAME"] = syrtos_peer.interface_of(place["hosts"][place["rank"]])
        dist.init_process_group("gloo", init_method=f'tcp://{place["hosts"][0]}:{place["port"]}',
                                rank=place["rank"], world_size=place["ranks"])
        # The model's own random numbers differ between ranks; DDP begins with rank 0's weights.
        together = torch.nn.parallel.DistributedDataParallel(self.model, gradient_as_bucket_view=True)
        self.prepare(rule)
        x, y = self.given(images, labels)

        def step():
            self.optimizer.zero_grad(set_to_none=True)
            together(x, y).backward()
            self.optimizer.step()

        done = syrtos_peer.timed_steps(step, steps)
        dist.barrier()
        dist.destroy_process_group()
        return done


if __name__ == "__main__":
    syrtos_peer.serve(PyTorchPeer)
