"""MXNet 1.9: imperative with autograd, its own profiler; together by kvstore dist_sync or dist_async, with
a server on every host and the scheduler on the first."""

import json
import os
import subprocess
import sys
import time

import mxnet as mx
import numpy as np
import syrtos_peer
from mxnet import autograd, nd

WARM_UP = syrtos_peer.WARM_UP

KINDS = {
    "Convolution": "convolution", "_backward_Convolution": "convolution gradient",
    "FullyConnected": "dense", "_backward_FullyConnected": "dense",
    "BatchNorm": "batch norm", "_backward_BatchNorm": "batch norm gradient",
    "Pooling": "pooling", "_backward_Pooling": "pooling gradient",
    "_contrib_AdaptiveAvgPooling2D": "pooling",
    "_backward_contrib_AdaptiveAvgPooling2D": "pooling gradient",
    "relu": "activation", "tanh": "activation", "Activation": "activation",
    "_backward_relu": "activation gradient", "_backward_tanh": "activation gradient",
    "_backward_Activation": "activation gradient",
    "log_softmax": "loss", "_backward_log_softmax": "loss", "pick": "loss", "_backward_pick": "loss",
    "sgd_mom_update": "update", "Concat": "moving data", "_backward_Concat": "moving data",
    "Reorder": "moving data", "CopyCPU2CPU": "moving data", "_copyto": "moving data",
}


class MXNetPeer(syrtos_peer.Adapter):
    name = "mxnet"
    double = True
    modes = ("sync", "async")

    def version(self):
        return mx.__version__

    def build(self, description, dtype, threads):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        mx.random.seed(1)
        self.net = description
        self.dtype = "float64" if dtype == "f64" else "float32"
        self.values = {v["name"]: nd.zeros(tuple(v["shape"]), dtype=self.dtype)
                       for v in description["parameters"] + description["states"]}
        self.trained = [p for p in description["parameters"] if p["rate"] != 0]
        for p in self.trained:
            self.values[p["name"]].attach_grad()
        self.momenta = {}
        self.exact = True
        return {name: value.shape for name, value in self.values.items()}

    def set_weights(self, arrays):
        for name, array in arrays.items():
            self.values[name][:] = nd.array(array, dtype=self.dtype)
        self.momenta = {}

    def weights(self):
        return {name: value.asnumpy() for name, value in self.values.items()}

    # ---- operations ----------------------------------------------------------------------------

    def loss(self, images, labels, masks, keep=None):
        values = {"images": images, "labels": labels}
        for node in self.net["nodes"]:
            operation = getattr(self, "op_" + node["op"], None)
            if operation is None:
                raise NotImplementedError(f'{node["layer"]}: the operation {node["op"]}')
            inputs = [values[n] if n in values else self.values[n] for n in node["inputs"]]
            if node["op"] == "dropout":
                inputs.append((masks or {}).get(node["output"]))
            values[node["output"]] = operation(node, *inputs)
            if keep is not None:
                keep[node["output"]] = values[node["output"]]
        return values[self.net["loss"]]

    def padded(self, node, x, value):
        """Symmetric padding is the operator's own; anything else comes before it."""
        (top, bottom), (left, right) = node["pads"]
        if top == bottom and left == right:
            return x, (top, left)
        return nd.pad(x, mode="constant", constant_value=value,
                      pad_width=(0, 0, 0, 0, top, bottom, left, right)), (0, 0)

    def op_conv(self, node, x, weight, bias=None):
        x, pad = self.padded(node, x, 0)
        more = {"no_bias": True} if bias is None else {"bias": bias}
        return nd.Convolution(x, weight, kernel=tuple(node["kernel"]), stride=tuple(node["stride"]),
                              dilate=tuple(node["dilation"]), pad=pad, num_filter=weight.shape[0],
                              num_group=node["groups"], **more)

    def op_dense(self, node, x, weight, bias=None):
        more = {"no_bias": True} if bias is None else {"bias": bias}
        return nd.FullyConnected(x, weight, num_hidden=weight.shape[0], flatten=False, **more)

    def op_bias_add(self, node, x, bias):
        return nd.broadcast_add(x, bias.reshape((1, -1) + (1,) * (x.ndim - 2)))

    def op_batch_norm(self, node, x, gamma, beta, mean, variance):
        keep = 1 - node["momentum"]
        if not self.exact:
            return nd.BatchNorm(x, gamma, beta, mean, variance, eps=node["epsilon"], momentum=keep,
                                fix_gamma=False)
        # MXNet moves the running variance by the biased one: here by hand.
        with autograd.pause():
            axes = (0,) + tuple(range(2, x.ndim))
            count = x.size // x.shape[1]
            seen = nd.mean(x, axis=axes)
            shape = (1, -1) + (1,) * (x.ndim - 2)
            spread = nd.sum(nd.square(nd.broadcast_sub(x, seen.reshape(shape))), axis=axes)
            mean[:] = keep * mean + (1 - keep) * seen
            variance[:] = keep * variance + (1 - keep) * spread / max(count - 1, 1)
        return nd.BatchNorm(x, gamma, beta, mean.copy(), variance.copy(), eps=node["epsilon"],
                            momentum=keep, fix_gamma=False)

    def op_max_pool(self, node, x):
        x, pad = self.padded(node, x, float(np.finfo(self.dtype).min))
        return nd.Pooling(x, kernel=tuple(node["kernel"]), stride=tuple(node["stride"]), pad=pad,
                          pool_type="max")

    def op_average_pool(self, node, x):
        x, pad = self.padded(node, x, 0)
        return nd.Pooling(x, kernel=tuple(node["kernel"]), stride=tuple(node["stride"]), pad=pad,
                          pool_type="avg", count_include_pad=node["count_padding"])

    def op_adaptive_pool(self, node, x):
        if tuple(node["size"]) == (1, 1):
            return nd.Pooling(x, global_pool=True, kernel=(1, 1),
                              pool_type="avg" if node["kind"] == "average" else "max")
        if node["kind"] != "average":
            raise NotImplementedError("adaptive maxima")
        return nd.contrib.AdaptiveAvgPooling2D(x, output_size=tuple(node["size"]))

    def op_relu(self, node, x):
        return nd.relu(x)

    def op_tanh(self, node, x):
        return nd.tanh(x)

    def op_sigmoid(self, node, x):
        return nd.sigmoid(x)

    def op_gelu(self, node, x):
        return 0.5 * x * (1 + nd.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * x * x * x)))

    def op_dropout(self, node, x, mask):
        return nd.Dropout(x, p=node["rate"]) if mask is None else x * mask

    def op_scale(self, node, x):
        return x * node["factor"]

    def op_constant(self, node):
        return nd.full(tuple(node["shape"]), node["value"], dtype=self.dtype)

    def op_add(self, node, *inputs):
        return inputs[0] + inputs[1] if len(inputs) == 2 else nd.add_n(*inputs)

    def op_concat(self, node, *inputs):
        return nd.concat(*inputs, dim=node["axis"])

    def op_reshape(self, node, x):
        return x.reshape((-1,) + tuple(node["shape"][1:]))

    def op_lrn(self, node, x):
        return nd.LRN(x, alpha=node["alpha"], beta=node["beta"], knorm=node["k"], nsize=node["size"])

    def op_cross_entropy(self, node, logits, labels):
        log_p = nd.log_softmax(logits)
        losses = -nd.pick(log_p, labels)
        smoothing = node["smoothing"]
        if smoothing:
            losses = (1 - smoothing) * losses - smoothing * nd.mean(log_p, axis=1)
        return nd.mean(losses)

    # ---- a step --------------------------------------------------------------------------------

    def given(self, images, labels, masks=None):
        return (nd.array(images, dtype=self.dtype), nd.array(labels, dtype=self.dtype),
                {n: nd.array(m, dtype=self.dtype) for n, m in (masks or {}).items()})

    def outputs(self, images, labels, masks):
        keep = {}
        with autograd.train_mode():
            self.loss(*self.given(images, labels, masks), keep)
        return {name: value.asnumpy() for name, value in keep.items()}

    def passes(self, x, y, masks):
        with autograd.record():
            loss = self.loss(x, y, masks)
        loss.backward()
        return loss

    def gradients(self, images, labels, masks):
        loss = self.passes(*self.given(images, labels, masks))
        return float(loss.asnumpy()[0]), {p["name"]: self.values[p["name"]].grad.asnumpy()
                                          for p in self.trained}

    def update(self, rule):
        for p in self.trained:
            weight = self.values[p["name"]]
            if p["name"] not in self.momenta:
                self.momenta[p["name"]] = nd.zeros(weight.shape, dtype=self.dtype)
            if self.dtype == "float64":  # MXNet's own keeps its numbers in single precision
                kept = self.momenta[p["name"]]
                kept[:] = rule["momentum"] * kept + weight.grad + rule["weight_decay"] * p["decay"] * weight
                weight[:] = weight - rule["lr"] * p["rate"] * kept
                continue
            nd.sgd_mom_update(weight, weight.grad, self.momenta[p["name"]], out=weight,
                              lr=rule["lr"] * p["rate"], momentum=rule["momentum"],
                              wd=rule["weight_decay"] * p["decay"])

    def step(self, images, labels, masks, rule):
        loss = self.passes(*self.given(images, labels, masks))
        self.update(rule)
        return float(loss.asnumpy()[0])

    # ---- phases 1 to 3 -------------------------------------------------------------------------

    def time_steps(self, images, labels, rule, seconds):
        self.exact = False
        batches = mx.io.NDArrayIter(np.concatenate([images] * 8), np.concatenate([labels] * 8),
                                    len(images))
        state, times, start = {}, [], None

        def load():
            try:
                batch = batches.next()
            except StopIteration:
                batches.reset()
                batch = batches.next()
            state["x"], state["y"] = batch.data[0], batch.label[0]
            nd.waitall()

        def forward():
            with autograd.record():
                state["loss"] = self.loss(state["x"], state["y"], None)
            nd.waitall()

        def backward():
            state["loss"].backward()
            nd.waitall()

        def update():
            self.update(rule)
            nd.waitall()

        while start is None or not syrtos_peer.enough(times, start, seconds):
            parts = syrtos_peer.timed(load, forward, backward, update)
            times.append(dict(zip(("load", "forward", "backward", "update"), parts)))
            if start is None and len(times) == WARM_UP:
                times, start = [], time.perf_counter()
        return times

    def profile(self, images, labels, rule, steps):
        self.exact = False
        for _ in range(WARM_UP):
            self.step(images, labels, None, rule)
        mx.profiler.set_config(profile_imperative=True, aggregate_stats=True,
                               filename=os.devnull)
        mx.profiler.set_state("run")
        for _ in range(steps):
            self.step(images, labels, None, rule)
        nd.waitall()
        mx.profiler.set_state("stop")
        tables = json.loads(mx.profiler.dumps(reset=True, format="json"))
        found = []
        for name, row in tables.get("Time", {}).get("operator", {}).items():
            if name.startswith(("WaitFor", "DeleteVariable", "SetValueOp")):
                continue  # no operators: its engine's own
            found.append({"name": name, "kind": KINDS.get(name, "other"),
                          "seconds": row["Total"] / 1e3 / steps})
        return found

    def train(self, place, images, labels, rule, steps):
        self.exact = False
        hosts, rank, ranks = place["hosts"], place["rank"], place["ranks"]
        shared = {"DMLC_PS_ROOT_URI": hosts[0], "DMLC_PS_ROOT_PORT": str(place["port"]),
                  "DMLC_NUM_WORKER": str(ranks), "DMLC_NUM_SERVER": str(ranks),
                  "DMLC_NODE_HOST": hosts[rank]}
        helpers = [subprocess.Popen([sys.executable, "-c", "import mxnet"],
                                    env=dict(os.environ, DMLC_ROLE=role, **shared))
                   for role in (["scheduler"] if rank == 0 else []) + ["server"]]
        os.environ.update(shared, DMLC_ROLE="worker")
        try:
            return self.train_with(mx.kv.create("dist_" + place["mode"]), place, images, labels, rule,
                                   steps)
        finally:
            for helper in helpers:
                try:
                    helper.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    helper.kill()

    def train_with(self, store, place, images, labels, rule, steps):
        share = 1.0 if place["mode"] == "async" else 1.0 / place["ranks"]
        store.set_optimizer(mx.optimizer.SGD(learning_rate=rule["lr"], momentum=rule["momentum"],
                                             wd=rule["weight_decay"], rescale_grad=share))
        for key, p in enumerate(self.trained):
            store.init(key, self.values[p["name"]])
            store.pull(key, self.values[p["name"]])
        x, y, _ = self.given(images, labels)

        def step():
            self.passes(x, y, None)
            for key, p in enumerate(self.trained):
                value = self.values[p["name"]]
                store.push(key, value.grad, priority=-key)
                store.pull(key, value, priority=-key)
            nd.waitall()

        done = syrtos_peer.timed_steps(step, steps)
        store._barrier()
        return done


if __name__ == "__main__":
    syrtos_peer.serve(MXNetPeer)
