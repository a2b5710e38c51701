"""TensorFlow 2: one tf.function per step, channels last; together by MultiWorkerMirroredStrategy
("sync")."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np  # noqa: E402
import syrtos_peer  # noqa: E402
import tensorflow as tf  # noqa: E402

WARM_UP = syrtos_peer.WARM_UP

# By the beginning of a kernel's type, without the names of its variants.
KINDS = {
    "Conv2DBackpropFilter": "convolution weight gradient",
    "Conv2DBackpropInput": "convolution data gradient", "Conv2D": "convolution", "MatMul": "dense",
    "BatchNormGrad": "batch norm gradient", "BatchNorm": "batch norm",
    "MaxPoolGrad": "pooling gradient", "AvgPoolGrad": "pooling gradient", "MaxPool": "pooling",
    "AvgPool": "pooling", "Mean": "pooling", "ReluGrad": "activation gradient",
    "TanhGrad": "activation gradient", "Relu": "activation", "Tanh": "activation",
    "SparseSoftmaxCrossEntropy": "loss", "ResourceApply": "update", "Assign": "update",
    "Pad": "moving data", "Transpose": "moving data", "Concat": "moving data",
    "Collective": "exchange", "Horovod": "exchange",
}


def kind_of(kernel):
    plain = re.sub("^_?(MklNative|Mkl)?(Fused|PadWith)?", "", kernel)
    return next((kind for name, kind in KINDS.items() if plain.startswith(name)), "other")


def kernel_in(weight):
    """[O, I, H, W] to [H, W, I, O]; TensorFlow keeps dense kernels as [in, out]."""
    return np.transpose(weight, (2, 3, 1, 0)) if weight.ndim == 4 else \
        np.transpose(weight) if weight.ndim == 2 else weight


def kernel_out(weight):
    return np.transpose(weight, (3, 2, 0, 1)) if weight.ndim == 4 else \
        np.transpose(weight) if weight.ndim == 2 else weight


def nchw(value):
    return np.transpose(value, (0, 3, 1, 2)) if value.ndim == 4 else value


def add_kernels(plane, totals):
    """Events of kernels are called "name:Type"; what runs within another one counts once."""
    for line in plane.lines:
        busy_until = 0
        for event in sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps)):
            _, _, kind = plane.event_metadata[event.metadata_id].name.rpartition(":")
            known = kind.startswith(("_Mkl", "_Fused", "Horovod")) or (
                kind.isidentifier() and kind[0].isupper() and hasattr(tf.raw_ops, kind))
            if known and event.offset_ps >= busy_until:
                totals[kind] = totals.get(kind, 0) + event.duration_ps
                busy_until = event.offset_ps + event.duration_ps


class Network:
    """The operations, on images with the channels last."""

    def __init__(self, description, dtype):
        self.net = description
        self.dtype = dtype
        make = {"dtype": dtype}
        self.variables = {}
        for value in description["parameters"] + description["states"]:
            zeros = kernel_in(np.zeros(value["shape"], dtype.as_numpy_dtype))
            self.variables[value["name"]] = tf.Variable(
                zeros, trainable=value.get("rate", 0) != 0, name=value["name"].replace(".", "_"), **make)
        self.trained = [p["name"] for p in description["parameters"] if p["rate"] != 0]

    def loss(self, images, labels, masks=None, keep=None):
        values = {"images": images, "labels": labels}
        for node in self.net["nodes"]:
            operation = getattr(self, "op_" + node["op"], None)
            if operation is None:
                raise NotImplementedError(f'{node["layer"]}: the operation {node["op"]}')
            inputs = [values[n] if n in values else self.variables[n] for n in node["inputs"]]
            if node["op"] == "dropout":
                inputs.append((masks or {}).get(node["output"]))
            values[node["output"]] = operation(node, *inputs)
            if keep is not None:
                keep[node["output"]] = values[node["output"]]
        return values[self.net["loss"]]

    def padding(self, node, x):
        """What TensorFlow pads by itself, and where it does not the image with its zeros."""
        if not np.any(node["pads"]):
            return "VALID", x
        same = []
        for axis in range(2):
            extent, stride = int(x.shape[1 + axis]), node["stride"][axis]
            reach = (node["kernel"][axis] - 1) * node["dilation"][axis] + 1
            total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
            same.append([total // 2, total - total // 2])
        if same == [list(p) for p in node["pads"]]:
            return "SAME", x
        return None, x

    def op_conv(self, node, x, weight, bias=None):
        padding, x = self.padding(node, x)
        if padding is None:
            x, padding = tf.pad(x, [[0, 0], *node["pads"], [0, 0]]), "VALID"
        if node["groups"] != 1 and self.dtype == tf.float64:
            raise NotImplementedError("groups of convolutions in float64")
        y = tf.nn.conv2d(x, weight, node["stride"], padding, dilations=node["dilation"])
        return y if bias is None else tf.nn.bias_add(y, bias)

    def op_dense(self, node, x, weight, bias=None):
        y = tf.matmul(x, weight)
        return y if bias is None else tf.nn.bias_add(y, bias)

    def op_bias_add(self, node, x, bias):
        return tf.nn.bias_add(x, bias)

    def op_batch_norm(self, node, x, gamma, beta, mean, variance):
        share = node["momentum"]
        # The fused one gives the unbiased variance, which is what moves the running one.
        if self.dtype == tf.float64 or len(x.shape) != 4:
            axes = list(range(len(x.shape) - 1))
            batch_mean, batch_variance = tf.nn.moments(x, axes)
            y = tf.nn.batch_normalization(x, batch_mean, batch_variance, beta, gamma, node["epsilon"])
            count = int(np.prod([int(x.shape[a]) for a in axes]))
            seen = batch_variance * (count / max(count - 1, 1))
        else:
            y, batch_mean, seen, *_ = tf.raw_ops.FusedBatchNormV3(
                x=x, scale=tf.convert_to_tensor(gamma), offset=tf.convert_to_tensor(beta),
                mean=tf.zeros([0]), variance=tf.zeros([0]), epsilon=node["epsilon"],
                is_training=True)[:3]
        mean.assign_sub(share * (mean - batch_mean), read_value=False)
        variance.assign_sub(share * (variance - seen), read_value=False)
        return y

    def op_max_pool(self, node, x):
        padding, x = self.padding(node, x)
        if padding is None:
            low = -np.inf
            x, padding = tf.pad(x, [[0, 0], *node["pads"], [0, 0]], constant_values=low), "VALID"
        return tf.nn.max_pool2d(x, node["kernel"], node["stride"], padding)

    def op_average_pool(self, node, x):
        if np.any(node["pads"]) and not node["count_padding"]:
            padding, x = self.padding(node, x)
            if padding is None:
                raise NotImplementedError("averages without the padding")
            return tf.nn.avg_pool2d(x, node["kernel"], node["stride"], padding)
        if np.any(node["pads"]):
            x = tf.pad(x, [[0, 0], *node["pads"], [0, 0]])
        return tf.nn.avg_pool2d(x, node["kernel"], node["stride"], "VALID")

    def op_adaptive_pool(self, node, x):
        height, width = int(x.shape[1]), int(x.shape[2])
        rows, columns = node["size"]
        reduce = tf.reduce_mean if node["kind"] == "average" else tf.reduce_max
        if (rows, columns) == (1, 1):
            return reduce(x, (1, 2), keepdims=True)
        if node["kind"] == "average" and (height, width) == (1, 1):
            return tf.tile(x, (1, rows, columns, 1))

        def cut(extent, count):
            return [(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]

        return tf.concat([tf.concat([reduce(x[:, a:b, c:d], (1, 2), keepdims=True)
                                     for c, d in cut(width, columns)], 2)
                          for a, b in cut(height, rows)], 1)

    def op_relu(self, node, x):
        return tf.nn.relu(x)

    def op_tanh(self, node, x):
        return tf.tanh(x)

    def op_sigmoid(self, node, x):
        return tf.sigmoid(x)

    def op_gelu(self, node, x):
        if self.dtype == tf.float64:  # TensorFlow's own has its constants in single precision
            return 0.5 * x * (1 + tf.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * x ** 3)))
        return tf.nn.gelu(x, approximate=True)

    def op_dropout(self, node, x, mask):
        return tf.nn.dropout(x, node["rate"]) if mask is None else x * mask

    def op_scale(self, node, x):
        return x * tf.constant(node["factor"], self.dtype)

    def op_constant(self, node):
        return tf.fill(node["shape"], tf.constant(node["value"], self.dtype))

    def op_add(self, node, *inputs):
        return inputs[0] + inputs[1] if len(inputs) == 2 else tf.add_n(inputs)

    def op_concat(self, node, *inputs):
        axis = node["axis"]
        if len(inputs[0].shape) == 4:
            axis = (0, 3, 1, 2)[axis]
        return tf.concat(inputs, axis)

    def op_reshape(self, node, x):
        if len(x.shape) == 4 and int(x.shape[1]) * int(x.shape[2]) > 1:
            x = tf.transpose(x, (0, 3, 1, 2))  # ours is flattened channel by channel
        return tf.reshape(x, node["shape"])

    def op_lrn(self, node, x):
        size = node["size"]
        if size % 2 == 0:
            raise NotImplementedError("response normalisation over an even number of channels")
        if self.dtype == tf.float64:
            around = tf.pad(x * x, [[0, 0], [0, 0], [0, 0], [size // 2, size // 2]])
            total = tf.add_n([around[..., i:i + int(x.shape[3])] for i in range(size)])
            return x / (node["k"] + node["alpha"] / size * total) ** node["beta"]
        return tf.nn.lrn(x, size // 2, node["k"], node["alpha"] / size, node["beta"])

    def op_cross_entropy(self, node, logits, labels):
        smoothing = node["smoothing"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        if smoothing:
            even = -tf.reduce_mean(tf.nn.log_softmax(logits), 1)
            losses = (1 - smoothing) * losses + smoothing * even
        return tf.reshape(tf.reduce_mean(losses), [1])


class TensorFlowPeer(syrtos_peer.Adapter):
    name = "tensorflow"
    double = True
    modes = ("sync",)

    def version(self):
        return tf.__version__

    def build(self, description, dtype, threads):
        try:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
        except RuntimeError:
            pass  # set by an earlier network
        tf.random.set_seed(1)
        self.net, self.threads = description, threads
        self.dtype = tf.float64 if dtype == "f64" else tf.float32
        self.make()
        return {name: kernel_out(v.numpy()).shape for name, v in self.model.variables.items()}

    def make(self):
        self.model = Network(self.net, self.dtype)
        self.momenta, self.functions = {}, {}

    def set_weights(self, arrays):
        for name, array in arrays.items():
            self.model.variables[name].assign(kernel_in(array))
        for kept in self.momenta.values():
            kept.assign(tf.zeros_like(kept))

    def weights(self):
        return {name: np.ascontiguousarray(kernel_out(v.numpy()))
                for name, v in self.model.variables.items()}

    def given(self, images, labels, masks=None):
        return (tf.constant(np.ascontiguousarray(np.transpose(images, (0, 2, 3, 1)))),
                tf.constant(labels),
                {n: tf.constant(np.transpose(m, (0, 2, 3, 1)) if m.ndim == 4 else m)
                 for n, m in (masks or {}).items()})

    def outputs(self, images, labels, masks):
        keep = {}
        self.model.loss(*self.given(images, labels, masks), keep)
        # Feature vectors were flattened channel by channel already.
        return {name: np.ascontiguousarray(nchw(value.numpy())) for name, value in keep.items()}

    def traced(self, x, y, masks):
        with tf.GradientTape() as tape:
            loss = self.model.loss(x, y, masks)
        trained = [self.model.variables[name] for name in self.model.trained]
        return loss, tape.gradient(loss, trained, unconnected_gradients="zero")

    def function(self, name, body):
        if name not in self.functions:
            self.functions[name] = tf.function(body)
        return self.functions[name]

    def gradients(self, images, labels, masks):
        loss, gradients = self.function("gradients", self.traced)(*self.given(images, labels, masks))
        return float(loss[0]), {name: np.ascontiguousarray(kernel_out(g.numpy()))
                                for name, g in zip(self.model.trained, gradients)}

    def prepare(self):
        if self.momenta:
            return
        self.momenta = {name: tf.Variable(tf.zeros_like(self.model.variables[name]), trainable=False)
                        for name in self.model.trained}

    def update(self, gradients, rule):
        """TensorFlow's own kernel: m = momentum m + g; w -= lr m."""
        about = {p["name"]: p for p in self.net["parameters"]}
        for name, gradient in zip(self.model.trained, gradients):
            variable, parameter = self.model.variables[name], about[name]
            decay = rule["weight_decay"] * parameter["decay"]
            if decay:
                gradient += tf.constant(decay, self.dtype) * variable
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle, accum=self.momenta[name].handle,
                lr=tf.constant(rule["lr"] * parameter["rate"], self.dtype), grad=gradient,
                momentum=tf.constant(rule["momentum"], self.dtype))

    def whole_step(self, x, y, masks, rule):
        loss, gradients = self.traced(x, y, masks)
        self.update(gradients, rule)
        return loss

    def step(self, images, labels, masks, rule):
        self.prepare()
        body = self.function("step", lambda x, y, m: self.whole_step(x, y, m, rule))
        return float(body(*self.given(images, labels, masks))[0])

    # ---- phases 1 to 3 -------------------------------------------------------------------------

    def loader(self, images, labels):
        x, y, _ = self.given(images, labels)
        data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(
            len(images), drop_remainder=True).prefetch(2)
        return iter(data)

    def time_steps(self, images, labels, rule, seconds):
        """A step cannot be cut within its function: the forward pass and the passes together are
        functions of their own, and what they take is subtracted."""
        self.prepare()
        batches = self.loader(images, labels)
        forward = tf.function(lambda x, y: self.model.loss(x, y))
        passes = tf.function(lambda x, y: self.traced(x, y, None))
        whole = tf.function(lambda x, y: self.whole_step(x, y, None, rule))
        state, times = {}, {"load": [], "forward": [], "passes": [], "whole": []}

        def load():
            state["batch"] = next(batches)

        count, start = 0, None
        while start is None or not syrtos_peer.enough(times["whole"], start, seconds):
            parts = syrtos_peer.timed(load, lambda: forward(*state["batch"])[0].numpy(),
                                      lambda: passes(*state["batch"])[0].numpy(),
                                      lambda: whole(*state["batch"])[0].numpy())
            for name, part in zip(times, parts):
                times[name].append(part)
            count += 1
            if start is None and count == WARM_UP:
                times, start = {name: [] for name in times}, time.perf_counter()
        load_s, forward_s, passes_s, whole_s = (float(np.median(t)) for t in times.values())
        forward_s = min(forward_s, whole_s)
        backward_s = min(max(passes_s - forward_s, 0), whole_s - forward_s)
        return [{"load": load_s, "forward": forward_s, "backward": backward_s,
                 "update": whole_s - forward_s - backward_s}] * len(times["whole"])

    def profile(self, images, labels, rule, steps):
        """By TensorFlow's own profiler: kernels on all threads of the host."""
        from tensorflow.tsl.profiler.protobuf import xplane_pb2
        for _ in range(WARM_UP):
            self.step(images, labels, None, rule)
        totals = {}
        with tempfile.TemporaryDirectory() as directory:
            tf.profiler.experimental.start(directory)
            for _ in range(steps):
                self.step(images, labels, None, rule)
            tf.profiler.experimental.stop()
            for file in glob.glob(directory + "/**/*.xplane.pb", recursive=True):
                space = xplane_pb2.XSpace()
                with open(file, "rb") as data:
                    space.ParseFromString(data.read())
                for plane in space.planes:
                    if plane.name.startswith("/host:CPU"):
                        add_kernels(plane, totals)
        return [{"name": name, "kind": kind_of(name), "seconds": ps / 1e12 / steps}
                for name, ps in totals.items()]

    def train(self, place, images, labels, rule, steps):
        """In a process of its own: a strategy must be there before anything else is computed."""
        with tempfile.TemporaryDirectory() as directory:
            np.savez(directory + "/weights.npz", **self.weights())
            np.savez(directory + "/batch.npz", images=images, labels=labels)
            with open(directory + "/job.json", "w") as file:
                json.dump({"description": self.net, "threads": self.threads, "place": place,
                           "rule": rule, "steps": steps}, file)
            config = {"cluster": {"worker": [f'{host}:{place["port"] + i}'
                                             for i, host in enumerate(place["hosts"])]},
                      "task": {"type": "worker", "index": place["rank"]}}
            done = subprocess.run([sys.executable, os.path.abspath(__file__), directory],
                                  env=dict(os.environ, TF_CONFIG=json.dumps(config)),
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise RuntimeError(f"training ended with exit code {done.returncode}")
            with open(directory + "/steps.json") as file:
                return json.load(file)

    def train_in(self, directory):
        with open(directory + "/job.json") as file:
            job = json.load(file)
        tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
        tf.config.threading.set_inter_op_parallelism_threads(job["threads"])
        ring = tf.distribute.experimental.CommunicationOptions(
            implementation=tf.distribute.experimental.CommunicationImplementation.RING)
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=ring)
        self.net, self.dtype = job["description"], tf.float32
        with strategy.scope():
            self.make()
            self.set_weights(dict(np.load(directory + "/weights.npz")))
            self.prepare()

        def replica(x, y):
            loss, gradients = self.traced(x, y, None)
            context = tf.distribute.get_replica_context()
            gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, list(gradients))
            self.update(gradients, job["rule"])
            return loss

        whole = tf.function(lambda x, y: strategy.run(replica, (x, y)))
        batch = np.load(directory + "/batch.npz")
        x, y, _ = self.given(batch["images"], batch["labels"])
        done = syrtos_peer.timed_steps(
            lambda: strategy.experimental_local_results(whole(x, y))[0].numpy(), job["steps"])
        with open(directory + "/steps.json", "w") as file:
            json.dump(done, file)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        TensorFlowPeer().train_in(sys.argv[1])
    else:
        syrtos_peer.serve(TensorFlowPeer)
