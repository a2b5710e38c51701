"""Trains deep networks on the machines you have, plans how to distribute them, explains the time.

    import syrtos

    run = syrtos.train("lenet5", "mnist", epochs=2)          # as 'syrtos train' does
    run.test_accuracy                                        # an array: one value for each epoch
    run.predict(images)                                      # probabilities of each class
    print(run.explain())                                     # where the time went

    net = syrtos.nn.Sequential(                              # a network of your own
        syrtos.nn.Conv2d(16, 3), syrtos.nn.BatchNorm(), syrtos.nn.ReLU(), syrtos.nn.MaxPool2d(),
        syrtos.nn.Flatten(), syrtos.nn.Linear(10), input=(1, 28, 28))
    print(net)                                               # layer by layer
    run = syrtos.train(net, (x, y), workers=2, lr=0.05)      # on arrays, with two workers

    plan = syrtos.plan(net, (x, y), cluster="4 hosts, 1 Gbit/s, 60 us")
    run = syrtos.train(net, (x, y), **plan.best)             # in the way that the plan found

    found = syrtos.search({"lr": {"log": [0.001, 0.3]}}, net, (x, y), trials=20)   # many of them
    found.best.run.predict(images)

    step = syrtos.compile(net, batch=64)                     # a loop of your own
    for x, y in batches:
        loss = step(x, y)

Options have the names of the program's: --weight-decay is weight_decay. syrtos.options() lists them.
Errors are RequestError (a ValueError: nothing was started) and RunError (a RuntimeError).
"""
import os as _os


# Threads that wait for each other must not spin for long: several workers share the cores, and what is
# waited for needs one. The runtime looks at this once, when it is loaded.
_SPIN = "GOMP_SPINCOUNT"
_sets_spin = _SPIN not in _os.environ and "OMP_WAIT_POLICY" not in _os.environ
if _sets_spin:
    _os.environ[_SPIN] = "2000"
try:
    from . import _core
finally:
    if _sets_spin:
        del _os.environ[_SPIN]
RequestError = _core.RequestError
RunError = _core.RunError
__version__ = _core.__version__

from . import nn  # noqa: E402
from ._group import Group, init  # noqa: E402
from ._networks import load_onnx, network, networks, options  # noqa: E402
from ._plan import Estimate, Plan, estimate, plan, probe  # noqa: E402
from ._run import Evaluation, Explanation, Run, explain, open_run  # noqa: E402
from ._search import Search, Trial, open_search, search  # noqa: E402
from ._step import Step, compile  # noqa: E402,A004
from ._train import Progress, train  # noqa: E402

__all__ = ["Estimate", "Evaluation", "Explanation", "Group", "Plan", "Progress", "RequestError", "Run", "RunError",
           "Search", "Step", "Trial", "compile", "estimate", "explain", "init", "load_onnx", "network", "networks", "nn", "open_run", "open_search",
           "options", "plan", "probe", "search", "train"]
