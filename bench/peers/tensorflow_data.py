"""One process: tf.data on CIFAR-10 with augmentation, timed. One line of JSON.

sample:        every operation per sample, then batched
batch:         batched first, then every operation on the whole batch ("vectorized mapping")
...-private:   the same with a thread pool of its own and without a fixed order
--workers 0 leaves prefetching and parallel calls out.
"""

import os
from pathlib import Path

import pipeline
from cifar10 import CUTOUT, MEAN, PAD, SIDE, STD, load

args = pipeline.arguments(["sample", "batch", "sample-private", "batch-private"])
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf  # noqa: E402
from tensorflow import keras  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(args.threads)
tf.config.threading.set_inter_op_parallelism_threads(args.threads)
keras.utils.set_random_seed(1)

SCALE = tf.constant([1 / (255 * s) for s in STD])
SHIFT = tf.constant([m / s for m, s in zip(MEAN, STD)])
LINE = tf.range(SIDE)


def hidden(shape):
    at = tf.random.uniform(shape, 0, SIDE - CUTOUT + 1, tf.int32)
    return (LINE >= at) & (LINE < at + CUTOUT)


def normalize(x):
    return tf.cast(x, tf.float32) * SCALE - SHIFT


def augment_sample(x, y):
    x = tf.image.random_crop(tf.pad(x, [[PAD, PAD], [PAD, PAD], [0, 0]]), [SIDE, SIDE, 3])
    x = normalize(tf.image.random_flip_left_right(x))
    hole = hidden([1])[:, None] & hidden([1])[None, :]
    return tf.where(hole[:, :, None], 0.0, x), y


def augment_batch(x, y):
    n = args.batch
    x = tf.pad(x, [[0, 0], [PAD, PAD], [PAD, PAD], [0, 0]])
    for axis in (1, 2):
        at = tf.random.uniform([n, 1], 0, 2 * PAD + 1, tf.int32)
        x = tf.gather(x, at + LINE, axis=axis, batch_dims=1)
    x = normalize(tf.image.random_flip_left_right(x))
    hole = hidden([n, 1])[:, :, None] & hidden([n, 1])[:, None, :]
    return tf.where(hole[..., None], 0.0, x), y


def decode(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    return tf.ensure_shape(image, [SIDE, SIDE, 3]), label


def source(calls):
    """Shuffled images and labels, endlessly: one by one, or (in memory) already in batches."""
    if not args.folder:
        images, labels = (tf.constant(array) for array in load(args.arrays))
        order = tf.data.Dataset.range(len(labels)).shuffle(len(labels)).repeat()
        pick = lambda i: (tf.gather(images, i), tf.gather(labels, i))  # noqa: E731
        if args.pipeline.startswith("batch"):
            return order.batch(args.batch, drop_remainder=True).map(pick, calls), True
        return order.map(pick, calls), False
    classes = sorted(entry.name for entry in Path(args.folder).iterdir())
    files = [(str(file), label) for label, name in enumerate(classes)
             for file in sorted((Path(args.folder) / name).iterdir())]
    listed = tf.data.Dataset.from_tensor_slices(tuple(map(list, zip(*files))))
    if args.cache == "memory":
        return listed.map(decode, calls).cache().shuffle(len(files)).repeat(), False
    return listed.shuffle(len(files)).repeat().map(decode, calls), False


def data_set():
    ahead = args.workers > 0 or not args.train
    calls = tf.data.AUTOTUNE if ahead else None
    data, batched = source(calls)
    if args.pipeline.startswith("batch"):
        data = data if batched else data.batch(args.batch, drop_remainder=True)
        data = data.map(augment_batch, calls)
    else:
        data = data.map(augment_sample, calls).batch(args.batch, drop_remainder=True)
    if ahead:
        data = data.prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    if not ahead:  # it would add both by itself
        options.experimental_optimization.inject_prefetch = False
        options.experimental_optimization.map_parallelization = False
    if args.pipeline.endswith("private"):
        options.threading.private_threadpool_size = args.threads
        options.deterministic = False
    return data.with_options(options)


def trainer():
    layers = keras.layers
    network = keras.Sequential([
        keras.Input((SIDE, SIDE, 3), batch_size=args.batch),
        layers.Conv2D(6, 5, activation="tanh"), layers.AveragePooling2D(2),
        layers.Conv2D(16, 5, activation="tanh"), layers.AveragePooling2D(2),
        layers.Flatten(), layers.Dense(120, activation="tanh"),
        layers.Dense(84, activation="tanh"), layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(network.trainable_variables)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=y, logits=network(x, training=True)))
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables))
        return loss

    return lambda x, y: float(step(x, y))


batches = iter(data_set())
pipeline.check(next(batches)[0].numpy(), args, (1, 2))
facts = {"framework": f"TensorFlow {tf.__version__}"}
if args.train:
    pipeline.training(batches, trainer(), args, **facts)
else:
    pipeline.throughput(batches, args, **facts)
