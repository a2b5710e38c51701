"""Options by name, for type checkers and editors. Written by tests/python/options.test --write."""
from __future__ import annotations

import os
from typing import Literal, Sequence, TypedDict, Union

Text = Union[str, int, float, "os.PathLike[str]", Sequence[Union[str, int, float]]]


class TrainOptions(TypedDict, total=False):
    """Of syrtos.train(): those of 'syrtos train'."""

    #: to start from: a .safetensors or .onnx file, a run, a checkpoint; none: drawn (default: those of an
    #: ONNX file that is the network, else none)
    weights: Text

    #: parameters that stay as they are: backbone (all but the last layer), or patterns such as
    #: layer1.*,conv1.* (default: none)
    freeze: Text

    #: number of classes, or of values or labels of each sample (default: the data's)
    classes: int

    #: image size: 32, 48x64 or 3x48x64 (default: the data's, or the network's)
    input: Text

    #: samples per step (default: 64)
    batch: int

    #: micro-batches of a worker's batch, whose gradients are added up: the same result with less memory; they
    #: follow each other through the parts of --split (default: 1; with --split in parts about four for each
    #: of them)
    accumulate: int

    #: passes over the training data (default: 1, or as many as --steps needs)
    epochs: int

    #: end after so many steps; 0: no limit (default: 0)
    steps: int

    #: what kernels compute in; auto: what is fastest here, measured once (default: auto)
    precision: Literal["auto", "f32", "bf16"]

    #: threads of each worker (default: what is fastest here; workers of a host divide its cores)
    threads: int

    #: seed of all random numbers (default: 1)
    seed: int

    #: directory for results (default: runs/<network>-<date>-<time>)
    run: Text

    #: largest norm of the gradient; 0: any (default: 0)
    clip: float

    #: how much samples of each class count: none (all the same), balanced (rare ones more), or numbers such
    #: as 1,2,0.5 (default: none)
    class_weights: Text

    #: share given to all classes (default: 0)
    label_smoothing: float

    #: steps between checkpoints within an epoch; 0: none (default: 0)
    checkpoint_every: int

    #: number of random samples (default: 1024)
    samples: int

    #: of a CSV file or a table of pictures: first, last, a number from 1 or a name; several, separated by
    #: commas, are values or labels (default: found out)
    label_column: Text

    #: values are learnt as (value - mean) / deviation of the training data, or as they are (default:
    #: standard; none where an ONNX file's weights are the start)
    target_scale: Literal["auto", "standard", "none"]

    #: share of the training data that is kept to measure with, such as 0.2; 0: measured on the test data
    #: (default: 0)
    validation: float

    #: how training samples are varied, such as crop:4,flip,rotate:15,mixup:0.2 (docs/data.md) (default: none)
    augment: Text

    #: samples without labels to train on too, of which --teacher says what they are: a data set, a folder of
    #: pictures, an array (default: none)
    unlabelled: Text

    #: so many made-up samples near the training data to train on too, of which --teacher says what they are
    #: (docs/ensembles.md) (default: 0)
    synthetic: int

    #: last samples of an epoch: a short batch, dropped or padded (default: short)
    remainder: Literal["short", "drop", "pad"]

    #: which samples each worker trains with: dealt anew in every epoch, or a part of the data that it keeps
    #: (docs/data.md) (default: shuffled)
    shard: Text

    #: batches prepared ahead (default: 4)
    prefetch: int

    #: where decoded pictures are kept (default: auto)
    cache: Literal["auto", "none", "memory", "disk"]

    #: epochs between evaluations; the last one is evaluated too; 0: none is (default: 1)
    evaluate_every: int

    #: views of each test sample, averaged (default: none)
    views: Literal["none", "flip", "flip+shift"]

    #: what this network learns to imitate: a run, an ensemble, a checkpoint or an ONNX file
    #: (docs/ensembles.md) (default: none)
    teacher: Text

    #: by which scores are divided where the teacher is imitated: the higher, the more its less probable
    #: classes say (default: 3)
    temperature: float

    #: share of the loss that is the teacher's; the rest is the labels' (default: 0.7)
    teacher_share: float

    #: when the teacher is asked: once for each sample, or in each step for samples as --augment has varied
    #: them; auto: once where they are not varied (default: auto)
    teacher_answers: Literal["auto", "once", "steps"]

    #: how weights are updated (default: momentum)
    optimizer: Literal["sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "adadelta"]

    #: learning rate (default: the optimizer's)
    lr: float

    #: of momentum and nesterov (default: 0.9)
    momentum: float

    #: of adam and adamw (default: 0.9)
    beta1: float

    #: of adam and adamw (default: 0.999)
    beta2: float

    #: of adadelta (default: 0.9)
    rho: float

    #: of adam, adamw, adagrad, adadelta (default: the optimizer's)
    epsilon: float

    #: weight decay of kernels (default: 0)
    weight_decay: float

    #: steps after which slow and fast weights meet; 0: none (default: 0)
    lookahead: int

    #: how the learning rate moves (default: constant)
    schedule: Literal["constant", "step", "cosine", "triangle", "triangular", "one-cycle"]

    #: times that the run goes through the schedule; what it has learnt at the end of each is a member of an
    #: ensemble, which the run then is (docs/ensembles.md) (default: 1)
    cycles: int

    #: steps of linear warm-up (default: 0)
    warmup: int

    #: period of step and triangular, in steps (default: a third of the run)
    schedule_every: int

    #: of step (default: 0.1)
    schedule_factor: float

    #: lowest fraction of cosine and triangular (default: 0)
    schedule_floor: float

    #: where one-cycle and triangle peak, from 0 to 1 (default: 0.3)
    schedule_peak: float

    #: first fraction of triangle (default: 0.2)
    schedule_start: float

    #: last fraction of triangle (default: 0.07)
    schedule_end: float

    #: workers that train together: processes, or threads with --exchange shared (default: 1)
    workers: int

    #: allreduce[:ring|halving-doubling|doubling|tree|hierarchical|mpi], ps, ps-sharded:K, ps-colocated,
    #: shared (default: allreduce)
    exchange: Text

    #: who waits for whom: join, split, async, ssp:S, backup:B or local:H (default: join)
    sync: Text

    #: what travels for a gradient: f32, bf16 or threshold:T (default: f32)
    wire: Text

    #: who updates the weights (default: auto)
    update: Literal["auto", "server", "worker"]

    #: what each worker has of the network: none (all of it), columns (of large dense layers), layers:N (one
    #: of N parts), branches, auto (parts that a plan finds), or layers that begin the parts, such as
    #: conv3,fc1 or a file of them (default: none)
    split: Text

    #: in which order micro-batches go through the parts of --split (default: 1f1b)
    pipeline: str

    #: transfers at a time that a server allows in each direction; 0: any (default: 0)
    permits: int

    #: gradients exchanged at once, in MB; 0: chosen (default: 0)
    bucket_mb: float

    #: latency and bandwidth between hosts by which buckets and algorithms are chosen, such as 60us,117MB/s;
    #: auto: measured, and noted in the run's job.toml so that it repeats (default: measured)
    links: Text

    #: workers that must be left for the run to go on when others are lost (default: 1)
    min_workers: int

    #: seconds that the network may be cut, or a process be stopped, and the run only waits; who is silent for
    #: more than twice that time is lost (default: 10)
    patience: int

    #: of what crosses between hosts: TLS 1.3 with keys of this run, or none, for a network in which nobody
    #: else is (default: tls)
    encryption: Literal["tls", "none"]

    #: statistics of each worker's own samples, or of all workers' (default: local)
    batch_norm: Literal["local", "synchronised"]

    #: sleep for the times in this file ('probe compute --times') instead of computing (default: nothing is
    #: replayed)
    replay: Text

    #: seconds between two readings of the hosts' processors, memory and network; 0: none (default: 1)
    sample_seconds: float

    #: steps whose events go to trace.json.gz: none, all, or steps=100..110 (default: none)
    trace: Text

    #: end after so many evaluations without improvement; 0: never (default: 0)
    early_stop: int

    #: what is watched, on the test or validation data (default: accuracy of classes, f1 of labels, loss of
    #: values)
    early_stop_metric: Literal["auto", "loss", "accuracy", "f1", "mae", "rmse", "r2"]

    #: least change that is an improvement (default: 0)
    early_stop_delta: float


class StepOptions(TypedDict, total=False):
    """Of syrtos.compile()."""

    #: number of classes, or of values or labels of each sample (default: the data's)
    classes: int

    #: what kernels compute in; auto: what is fastest here, measured once (default: auto)
    precision: Literal["auto", "f32", "bf16"]

    #: threads of each worker (default: what is fastest here; workers of a host divide its cores)
    threads: int

    #: seed of all random numbers (default: 1)
    seed: int

    #: learning rate (default: the optimizer's)
    lr: float

    #: of momentum and nesterov (default: 0.9)
    momentum: float

    #: of adam and adamw (default: 0.9)
    beta1: float

    #: of adam and adamw (default: 0.999)
    beta2: float

    #: of adadelta (default: 0.9)
    rho: float

    #: of adam, adamw, adagrad, adadelta (default: the optimizer's)
    epsilon: float

    #: weight decay of kernels (default: 0)
    weight_decay: float

    #: how much samples of each class count: none (all the same), balanced (rare ones more), or numbers such
    #: as 1,2,0.5 (default: none)
    class_weights: Text

    #: share given to all classes (default: 0)
    label_smoothing: float
