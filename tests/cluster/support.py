"""What the tests with several hosts share."""
import os
import subprocess
import sys
import tempfile
import traceback

SOURCE = os.environ.get("SYRTOS_SOURCE", os.getcwd())
CLUSTER = os.path.join(SOURCE, "tools", "cluster")
SKIPPED = 77

# How many times as long as an ordinary build this one may take (sanitizers).
PATIENCE = float(os.environ.get("SYRTOS_TEST_PATIENCE", "1"))
# Nothing here takes so long; whoever has not ended by then hangs, on a busy machine too.
HANGS = 120 * PATIENCE
# A lost rank is noticed within seconds. More than this means that nobody had noticed it.
UNNOTICED = 40 * PATIENCE


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def cluster(*arguments, timeout=HANGS, **options):
    """Runs tools/cluster; where hosts cannot be made the whole test is skipped."""
    done = subprocess.run([CLUSTER, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, **options)
    if done.returncode == SKIPPED:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)
    return done


def succeeds(*arguments, **options):
    done = cluster(*arguments, **options)
    check(done.returncode == 0, f"expected exit 0: {' '.join(map(str, arguments))}\n"
          f"  exit {done.returncode}\n  stdout: {done.stdout}\n  stderr: {done.stderr}")
    return done


def mpirun(hosts, directory):
    """Its files go to a directory of this test: clusters that run side by side have equal names."""
    options = {"plm_rsh_agent": f"{CLUSTER} ssh", "routed": "direct", "btl": "tcp,self",
               "btl_tcp_if_include": "10.77.0.0/16", "oob_tcp_if_include": "10.77.0.0/16",
               "orte_tmpdir_base": directory,
               "mpi_yield_when_idle": "1"}  # the hosts share their cores
    words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", ",".join(hosts)]
    for name, value in options.items():
        words += ["--mca", name, value]
    return [*words, os.path.join(SOURCE, "tests", "as_mpi_rank")]


def run_tests(tests):
    """Each test gets a directory of its own, which is removed."""
    failed = 0
    for test in tests:
        with tempfile.TemporaryDirectory() as directory:
            try:
                test(directory)
                print(f"ok: {test.__name__}", flush=True)
            except Exception:  # the next one runs all the same
                traceback.print_exc()
                print(f"FAILED: {test.__name__}", flush=True)
                failed += 1
    sys.exit(1 if failed else 0)
