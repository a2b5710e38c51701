"""The process of one rank of train(hosts=...) or train(processes=True). Started by the launcher, by its path, and not by
people: it imports the package that it lies in, whatever else there is under that name."""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import sys
from typing import Any

_DONE, _FAILED, _REFUSED = 0, 1, 2


def _own_package() -> Any:
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location("syrtos", os.path.join(folder, "__init__.py"),
                                                  submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["syrtos"] = package
    spec.loader.exec_module(package)
    return package


def _end_in_good_order(*_: Any) -> None:
    raise KeyboardInterrupt


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--identity", action="store_true")
    parser.add_argument("--join", default="")
    parser.add_argument("--run", default="")  # only for process lists
    parser.add_argument("--arrays", default="null")
    parser.add_argument("--tell-every", type=float, default=0)
    return parser.parse_args()


def main() -> int:
    asked = _parsed()
    package = _own_package()
    if asked.identity:
        print(package._core.identity())
        return _DONE
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end_in_good_order)
    from syrtos import _shared  # of this package, which is in sys.modules
    try:
        train, test = _shared.opened(json.loads(asked.arrays))
        return package._core.serve_rank(asked.join, train, test, asked.tell_every)
    except KeyboardInterrupt:
        return _FAILED
    except package.RequestError as error:
        print(f"error: {error}", file=sys.stderr)
        return _REFUSED
    except Exception as error:  # the launcher says which rank it was
        print(f"error: {error if isinstance(error, package.RunError) else repr(error)}", file=sys.stderr)
        return _FAILED


if __name__ == "__main__":
    sys.exit(main())
