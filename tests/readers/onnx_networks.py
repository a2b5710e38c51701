"""Networks made with the onnx package, as exporters write them."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Adds nodes one after the other; weights are drawn from a seed."""

    def __init__(self, image, opset=17, batch="batch", seed=1):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.opset = [], [], opset
        self.inputs = [helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, *image])]
        self.batch = batch

    def weight(self, name, *shape, scale=None, around=0.0):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        scale = scale if scale is not None else (2 / fan) ** 0.5
        values = (around + scale * self.random.standard_normal(shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values, dtype=np.int64):
        name = f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def add(self, operation, *inputs, outputs=1, **attributes):
        names = [f"{operation}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operation, inputs, names, name=f"/{names[0]}",
                                           **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, name, into, out, kernel, bias=False, **attributes):
        inputs = [x, self.weight(f"{name}.weight", out, into, kernel, kernel)]
        if bias:
            inputs.append(self.weight(f"{name}.bias", out, scale=0.1))
        return self.add("Conv", *inputs, kernel_shape=[kernel, kernel], **attributes)

    def batch_norm(self, x, name, channels):
        return self.add("BatchNormalization", x,
                        self.weight(f"{name}.weight", channels, scale=0.1, around=1),
                        self.weight(f"{name}.bias", channels, scale=0.1),
                        self.weight(f"{name}.running_mean", channels, scale=0.1),
                        self.weight(f"{name}.running_var", channels, scale=0.02, around=1))

    def dense(self, x, name, into, out):
        return self.add("Gemm", x, self.weight(f"{name}.weight", out, into),
                        self.weight(f"{name}.bias", out, scale=0.1), transB=1)

    def save(self, output, classes, path):
        out = helper.make_tensor_value_info(output, TensorProto.FLOAT, [self.batch, classes])
        graph = helper.make_graph(self.nodes, "network", self.inputs, [out], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def residual(path, classes=4, opset=17, batch="batch"):
    """Two blocks with a shortcut, for 3x16x16 images."""
    net = Network([3, 16, 16], opset, batch)
    x = net.add("Relu", net.batch_norm(net.conv("images", "conv1", 3, 8, 3, pads=[1] * 4), "bn1", 8))
    y = net.add("Relu", net.batch_norm(net.conv(x, "block.conv1", 8, 8, 3, pads=[1] * 4),
                                       "block.bn1", 8))
    y = net.batch_norm(net.conv(y, "block.conv2", 8, 8, 3, pads=[1] * 4, group=1), "block.bn2", 8)
    x = net.add("Relu", net.add("Add", y, x))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    x = net.conv(x, "depthwise", 1, 8, 3, bias=True, group=8, pads=[1] * 4)
    x = net.add("Clip", x, net.constant(0, np.float32), net.constant(6, np.float32))
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    net.save(net.dense(x, "fc", 8, classes), classes, path)
