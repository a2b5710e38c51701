"""A peer that is nothing but NumPy: slow and plain, it needs no framework. What others are tested with."""

import numpy as np
import syrtos_peer
from numpy.lib.stride_tricks import sliding_window_view


class Tape:
    """Values by name, and how their gradients go back."""

    def __init__(self, values):
        self.values = dict(values)
        self.gradients = {}
        self.back = []

    def add(self, name, gradient):
        known = self.gradients.get(name)
        self.gradients[name] = gradient if known is None else known + gradient

    def backward(self, loss):
        self.gradients[loss] = np.ones_like(self.values[loss])
        for output, function in reversed(self.back):
            if output in self.gradients:
                function(self.gradients[output])


def patches(x, kernel, stride, dilation):
    """[N, C, H', W', kh, kw] of an image that is padded already."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    view = sliding_window_view(x, reach, axis=(2, 3))
    return view[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]


def scattered(windows, shape, kernel, stride, dilation):
    """The transposed of patches(): adds up what windows give."""
    result = np.zeros(shape, windows.dtype)
    height, width = windows.shape[2:4]
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y, x = i * dilation[0], j * dilation[1]
            result[:, :, y:y + height * stride[0]:stride[0],
                   x:x + width * stride[1]:stride[1]] += windows[..., i, j]
    return result


def padded(x, pads, value=0):
    return np.pad(x, ((0, 0), (0, 0), *map(tuple, pads)), constant_values=value)


def cropped(x, pads):
    (top, bottom), (left, right) = pads
    return x[:, :, top:x.shape[2] - bottom, left:x.shape[3] - right]


class NumPyPeer(syrtos_peer.Adapter):
    name = "numpy"
    double = True

    def version(self):
        return np.__version__

    def build(self, description, dtype, threads):
        self.net = description
        self.dtype = np.float64 if dtype == "f64" else np.float32
        self.trained = {p["name"]: p for p in description["parameters"] if p["rate"] != 0}
        self.arrays = {v["name"]: np.zeros(v["shape"], self.dtype)
                       for v in description["parameters"] + description["states"]}
        self.kept = {}
        return {name: array.shape for name, array in self.arrays.items()}

    def set_weights(self, arrays):
        self.arrays = {name: array.copy() for name, array in arrays.items()}
        self.kept = {}

    def weights(self):
        return self.arrays

    # ---- a step --------------------------------------------------------------------------------

    def forward(self, images, labels, masks):
        tape = Tape({**self.arrays, "images": images, "labels": labels})
        for node in self.net["nodes"]:
            operation = getattr(self, "op_" + node["op"], None)
            if operation is None:
                raise NotImplementedError(f'{node["layer"]}: the operation {node["op"]}')
            if node["op"] == "dropout":
                node = {**node, "mask": masks[node["output"]]}
            operation(tape, node)
        return tape

    def outputs(self, images, labels, masks):
        tape = self.forward(images, labels, masks)
        return {node["output"]: tape.values[node["output"]] for node in self.net["nodes"]}

    def gradients(self, images, labels, masks):
        tape = self.forward(images, labels, masks)
        tape.backward(self.net["loss"])
        return tape.values[self.net["loss"]][0], {
            name: tape.gradients.get(name, np.zeros_like(self.arrays[name])) for name in self.trained}

    def decay_of(self, parameter):
        return parameter["decay"]

    def step(self, images, labels, masks, rule):
        loss, gradients = self.gradients(images, labels, masks)
        for name, parameter in self.trained.items():
            weight = self.arrays[name]
            gradient = gradients[name] + rule["weight_decay"] * self.decay_of(parameter) * weight
            moved = rule["momentum"] * self.kept.get(name, 0) + gradient
            self.kept[name] = moved
            self.arrays[name] = (weight - rule["lr"] * parameter["rate"] * moved).astype(self.dtype)
        return loss

    # ---- operations ----------------------------------------------------------------------------

    def put(self, tape, node, value, back):
        tape.values[node["output"]] = value
        tape.back.append((node["output"], back))

    def pads_of(self, node, x):
        return node["pads"]

    def op_conv(self, tape, node):
        names = node["inputs"]
        x, weights = tape.values[names[0]], tape.values[names[1]]
        groups, pads = node["groups"], self.pads_of(node, x)
        window = (node["kernel"], node["stride"], node["dilation"])
        inside = padded(x, pads)
        view = patches(inside, *window)
        n, _, height, width = view.shape[:4]
        split = view.reshape(n, groups, -1, *view.shape[2:])
        kernels = weights.reshape(groups, -1, *weights.shape[1:])
        y = np.einsum("ngihwkl,goikl->ngohw", split, kernels, optimize=True)
        y = y.reshape(n, weights.shape[0], height, width)
        if len(names) > 2:
            y = y + tape.values[names[2]][:, None, None]

        def back(dy):
            split_dy = dy.reshape(n, groups, -1, height, width)
            tape.add(names[1], np.einsum("ngihwkl,ngohw->goikl", split, split_dy,
                                         optimize=True).reshape(weights.shape))
            if len(names) > 2:
                tape.add(names[2], dy.sum((0, 2, 3)))
            windows = np.einsum("ngohw,goikl->ngihwkl", split_dy, kernels, optimize=True)
            tape.add(names[0], cropped(scattered(windows.reshape(view.shape), inside.shape, *window),
                                       pads))

        self.put(tape, node, y, back)

    def op_dense(self, tape, node):
        names = node["inputs"]
        x, weights = tape.values[names[0]], tape.values[names[1]]
        y = x @ weights.T
        if len(names) > 2:
            y = y + tape.values[names[2]]

        def back(dy):
            tape.add(names[1], dy.T @ x)
            if len(names) > 2:
                tape.add(names[2], dy.sum(0))
            tape.add(names[0], dy @ weights)

        self.put(tape, node, y, back)

    def op_bias_add(self, tape, node):
        names = node["inputs"]
        x, bias = (tape.values[name] for name in names)
        axes = (0, *range(2, x.ndim))

        def back(dy):
            tape.add(names[0], dy)
            tape.add(names[1], dy.sum(axes))

        self.put(tape, node, x + bias.reshape(-1, *[1] * (x.ndim - 2)), back)

    def op_batch_norm(self, tape, node):
        names = node["inputs"]
        x, gamma, beta = (tape.values[name] for name in names[:3])
        axes, shape = (0, *range(2, x.ndim)), (-1, *[1] * (x.ndim - 2))
        mean, variance = x.mean(axes), x.var(axes)
        count = x.size // x.shape[1]
        scale = 1 / np.sqrt(variance + self.dtype(self.epsilon_of(node)))
        normal = (x - mean.reshape(shape)) * scale.reshape(shape)
        momentum = self.momentum_of(node)
        for name, seen in ((names[3], mean), (names[4], variance * count / max(count - 1, 1))):
            self.arrays[name] = ((1 - momentum) * self.arrays[name] + momentum * seen).astype(self.dtype)

        def back(dy):
            tape.add(names[2], dy.sum(axes))
            tape.add(names[1], (dy * normal).sum(axes))
            centred = dy - dy.mean(axes).reshape(shape) - normal * (dy * normal).mean(axes).reshape(shape)
            tape.add(names[0], centred * (gamma * scale).reshape(shape))

        self.put(tape, node, normal * gamma.reshape(shape) + beta.reshape(shape), back)

    def epsilon_of(self, node):
        return node["epsilon"]

    def momentum_of(self, node):
        return node["momentum"]

    def op_max_pool(self, tape, node):
        x = tape.values[node["inputs"][0]]
        pads, window = node["pads"], (node["kernel"], node["stride"], node["dilation"])
        inside = padded(x, pads, -np.inf)
        view = patches(inside, *window)
        flat = view.reshape(*view.shape[:4], -1)
        first = flat.argmax(-1)
        y = np.take_along_axis(flat, first[..., None], -1)[..., 0]

        def back(dy):
            chosen = np.zeros(flat.shape, dy.dtype)
            np.put_along_axis(chosen, first[..., None], dy[..., None], -1)
            tape.add(node["inputs"][0],
                     cropped(scattered(chosen.reshape(view.shape), inside.shape, *window), pads))

        self.put(tape, node, y, back)

    def op_average_pool(self, tape, node):
        x = tape.values[node["inputs"][0]]
        pads, window = node["pads"], (node["kernel"], node["stride"], node["dilation"])
        inside = padded(x, pads)
        counted = padded(np.ones_like(x[:1, :1]), pads, 1 if node["count_padding"] else 0)
        divisor = patches(counted, *window).sum((-1, -2))
        view = patches(inside, *window)

        def back(dy):
            each = np.broadcast_to((dy / divisor)[..., None, None], view.shape)
            tape.add(node["inputs"][0], cropped(scattered(each, inside.shape, *window), pads))

        self.put(tape, node, view.sum((-1, -2)) / divisor, back)

    def op_adaptive_pool(self, tape, node):
        """Averages (or maxima) over windows of unequal size: a product with a matrix along each axis."""
        if node["kind"] != "average":
            raise NotImplementedError("adaptive maxima")
        x = tape.values[node["inputs"][0]]
        maps = [self.averages(extent, count) for extent, count in zip(x.shape[2:], node["size"])]

        def back(dy):
            tape.add(node["inputs"][0],
                     np.einsum("ncij,ih,jw->nchw", dy, *maps, optimize=True))

        self.put(tape, node, np.einsum("nchw,ih,jw->ncij", x, *maps, optimize=True), back)

    def averages(self, extent, count):
        result = np.zeros((count, extent), self.dtype)
        for i in range(count):
            begin, end = i * extent // count, -(-(i + 1) * extent // count)
            result[i, begin:end] = 1 / (end - begin)
        return result

    def pointwise(self, tape, node, y, slope):
        self.put(tape, node, y, lambda dy: tape.add(node["inputs"][0], dy * slope))

    def op_relu(self, tape, node):
        x = tape.values[node["inputs"][0]]
        self.pointwise(tape, node, np.maximum(x, 0), x > 0)

    def op_tanh(self, tape, node):
        y = np.tanh(tape.values[node["inputs"][0]])
        self.pointwise(tape, node, y, 1 - y * y)

    def op_sigmoid(self, tape, node):
        y = 1 / (1 + np.exp(-tape.values[node["inputs"][0]]))
        self.pointwise(tape, node, y, y * (1 - y))

    def op_gelu(self, tape, node):
        x = tape.values[node["inputs"][0]]
        inner = self.dtype(np.sqrt(2 / np.pi)) * (x + self.dtype(0.044715) * x ** 3)
        t = np.tanh(inner)
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * self.dtype(np.sqrt(2 / np.pi)) * (
            1 + 3 * self.dtype(0.044715) * x * x)
        self.pointwise(tape, node, 0.5 * x * (1 + t), slope)

    def op_dropout(self, tape, node):
        self.pointwise(tape, node, tape.values[node["inputs"][0]] * node["mask"], node["mask"])

    def op_scale(self, tape, node):
        factor = self.dtype(node["factor"])
        self.pointwise(tape, node, tape.values[node["inputs"][0]] * factor, factor)

    def op_constant(self, tape, node):
        tape.values[node["output"]] = np.full(node["shape"], node["value"], self.dtype)

    def op_add(self, tape, node):
        def back(dy):
            for name in node["inputs"]:
                tape.add(name, dy)

        self.put(tape, node, sum(tape.values[name] for name in node["inputs"]), back)

    def op_concat(self, tape, node):
        parts = [tape.values[name] for name in node["inputs"]]
        edges = np.cumsum([part.shape[node["axis"]] for part in parts])[:-1]

        def back(dy):
            for name, part in zip(node["inputs"], np.split(dy, edges, node["axis"])):
                tape.add(name, part)

        self.put(tape, node, np.concatenate(parts, node["axis"]), back)

    def op_reshape(self, tape, node):
        x = tape.values[node["inputs"][0]]
        self.put(tape, node, x.reshape(node["shape"]),
                 lambda dy: tape.add(node["inputs"][0], dy.reshape(x.shape)))

    def op_lrn(self, tape, node):
        x = tape.values[node["inputs"][0]]
        size, beta = node["size"], self.dtype(node["beta"])
        around = self.dtype(node["alpha"] / size)
        before, after = (size - 1) // 2, size // 2

        def windowed(v, low, high):
            wide = np.pad(v, ((0, 0), (low, high), (0, 0), (0, 0)))
            return sum(wide[:, i:i + v.shape[1]] for i in range(size))

        base = self.dtype(node["k"]) + around * windowed(x * x, before, after)
        y = x * base ** -beta

        def back(dy):
            tape.add(node["inputs"][0], dy * base ** -beta - 2 * around * beta * x * windowed(
                dy * y / base, after, before))

        self.put(tape, node, y, back)

    def op_cross_entropy(self, tape, node):
        logits, labels = (tape.values[name] for name in node["inputs"])
        classes = logits.shape[1]
        shifted = logits - logits.max(1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        target = np.full(logits.shape, node["smoothing"] / classes, self.dtype)
        target[np.arange(len(labels)), labels] += self.dtype(1 - node["smoothing"])
        loss = np.array([-(target * log_p).sum() / len(labels)], self.dtype)
        self.put(tape, node, loss, lambda dy: tape.add(
            node["inputs"][0], dy[0] * (np.exp(log_p) - target) / len(labels)))


if __name__ == "__main__":
    syrtos_peer.serve(NumPyPeer)
