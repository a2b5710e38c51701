"""One process: a TensorFlow training step of one network, timed. Prints one line of JSON.

The Keras models repeat torchvision's layers; explicit zero padding where a stride makes
"same" differ from PyTorch's symmetric padding. The layout is channels last: the only one
TensorFlow's convolutions have on a CPU.
"""

import os

import measure

args = measure.arguments(["function", "xla"])
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf  # noqa: E402
from tensorflow import keras  # noqa: E402

imported_mb = measure.peak_rss_mb()

L = keras.layers

tf.config.threading.set_intra_op_parallelism_threads(args.threads)
tf.config.threading.set_inter_op_parallelism_threads(args.threads)
keras.utils.set_random_seed(1)
if args.precision == "bf16":
    keras.mixed_precision.set_global_policy("mixed_bfloat16")


def lenet5(x, classes):
    for maps in (6, 16):
        x = L.Conv2D(maps, 5, activation="tanh")(x)
        x = L.AveragePooling2D(2)(x)
    x = L.Flatten()(x)
    for width in (120, 84):
        x = L.Dense(width, activation="tanh")(x)
    return L.Dense(classes)(x)


def alexnet(x, classes):
    x = L.Conv2D(64, 11, strides=4, activation="relu")(L.ZeroPadding2D(2)(x))
    x = L.MaxPooling2D(3, 2)(x)
    x = L.Conv2D(192, 5, padding="same", activation="relu")(x)
    x = L.MaxPooling2D(3, 2)(x)
    for maps in (384, 256, 256):
        x = L.Conv2D(maps, 3, padding="same", activation="relu")(x)
    x = L.MaxPooling2D(3, 2)(x)
    if x.shape[1] == 1:  # adaptive pooling of one pixel to 6x6 repeats it
        x = L.UpSampling2D(6)(x)
    elif x.shape[1] != 6:
        raise SystemExit("the Keras AlexNet here takes 64x64 or 224x224 images")
    x = L.Flatten()(x)
    for _ in range(2):
        x = L.Dense(4096, activation="relu")(L.Dropout(0.5)(x))
    return L.Dense(classes)(x)


def convolution(x, maps, kernel, stride=1):
    padding = "same"
    if stride > 1 and kernel > 1:
        x, padding = L.ZeroPadding2D(kernel // 2)(x), "valid"
    return L.Conv2D(maps, kernel, strides=stride, padding=padding, use_bias=False)(x)


def batch_norm(x):
    return L.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def relu(x):
    return L.Activation("relu")(x)


def shortcut(x, maps, stride):
    if stride == 1 and x.shape[-1] == maps:
        return x
    return batch_norm(convolution(x, maps, 1, stride))


def basic_block(x, maps, stride):
    y = relu(batch_norm(convolution(x, maps, 3, stride)))
    y = batch_norm(convolution(y, maps, 3))
    return relu(L.Add()([y, shortcut(x, maps, stride)]))


def bottleneck_block(x, maps, stride):
    y = relu(batch_norm(convolution(x, maps, 1)))
    y = relu(batch_norm(convolution(y, maps, 3, stride)))
    y = batch_norm(convolution(y, 4 * maps, 1))
    return relu(L.Add()([y, shortcut(x, 4 * maps, stride)]))


def resnet(x, classes, block, depths, cifar=False):
    if cifar:
        x = relu(batch_norm(convolution(x, 64, 3)))
    else:
        x = relu(batch_norm(convolution(x, 64, 7, 2)))
        x = L.MaxPooling2D(3, 2)(L.ZeroPadding2D(1)(x))  # after ReLU, zero pads like minus infinity
    for stage, depth in enumerate(depths):
        for i in range(depth):
            x = block(x, 64 << stage, 2 if stage > 0 and i == 0 else 1)
    return L.Dense(classes)(L.GlobalAveragePooling2D()(x))


NETWORKS = {
    "lenet5": lenet5,
    "alexnet": alexnet,
    "resnet18": lambda x, classes: resnet(x, classes, basic_block, (2, 2, 2, 2)),
    "resnet50": lambda x, classes: resnet(x, classes, bottleneck_block, (3, 4, 6, 3)),
    "resnet18-cifar": lambda x, classes: resnet(x, classes, basic_block, (2, 2, 2, 2), cifar=True),
}

inputs = keras.Input((args.input, args.input, 3), batch_size=args.batch)
network = keras.Model(inputs, NETWORKS[args.network](inputs, measure.CLASSES))
images = tf.random.normal((args.batch, args.input, args.input, 3))
labels = tf.random.uniform((args.batch,), 0, measure.CLASSES, dtype=tf.int32)
optimizer = keras.optimizers.SGD(measure.LEARNING_RATE, momentum=measure.MOMENTUM)
optimizer.build(network.trainable_variables)


@tf.function(jit_compile=args.mode == "xla")
def train(x, y):
    with tf.GradientTape() as tape:
        logits = tf.cast(network(x, training=True), tf.float32)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    gradients = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables))
    return loss


measure.run(lambda: float(train(images, labels)), args.seconds, imported_mb=imported_mb,
            framework=f"TensorFlow {tf.__version__}",
            parameters=sum(int(tf.size(v)) for v in network.trainable_variables))
