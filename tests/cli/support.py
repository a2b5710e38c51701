"""What the command-line tests share: running the program and checking what it says."""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

BIN = os.environ["SYRTOS_BIN"]
SOURCE = os.environ.get("SYRTOS_SOURCE", os.getcwd())
MNIST = os.path.join(SOURCE, "build", "data", "mnist")

# How many times as long as an ordinary build this one may take (sanitizers).
PATIENCE = float(os.environ.get("SYRTOS_TEST_PATIENCE", "1"))
# Nothing here takes so long; whoever has not ended by then hangs, on a busy machine too.
HANGS = 120 * PATIENCE

# Tests share their cores: threads that wait must not keep one busy.
os.environ["OMP_WAIT_POLICY"] = "passive"

# Small and quick; one thread, so that other tests may run at the same time.
SMALL = ["--network", "lenet5", "--data", "random", "--samples", "70", "--batch", "16",
         "--precision", "f32", "--threads", "1"]

# Nothing learns like this: weights leave the range of numbers within a few steps.
DIVERGES = ["--lr", "1000", "--weight-decay", "100"]


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def syrtos(*arguments, cwd=None, timeout=HANGS, env=None):
    done = subprocess.run([BIN, *map(str, arguments)], cwd=cwd, timeout=timeout, text=True,
                          capture_output=True, env=env)
    return Result(done.returncode, done.stdout, done.stderr)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def refuses(*arguments, code=2, says=(), cwd=None, env=None):
    """The command must fail with this code and one clear error that contains every text."""
    result = syrtos(*arguments, cwd=cwd, env=env)
    what = f"{' '.join(map(str, arguments))}\n  exit {result.code}, stderr: {result.err!r}"
    check(result.code == code, f"expected exit {code}: {what}")
    check(result.err.startswith("error: "), f"expected 'error: ...': {what}")
    for text in [says] if isinstance(says, str) else says:
        check(text in result.err, f"expected {text!r} in the message: {what}")
    for trace in ("terminate called", "core dumped", "std::", "  at ", ".cc:"):
        check(trace not in result.err, f"found a trace {trace!r}: {what}")
    return result


def succeeds(*arguments, **options):
    result = syrtos(*arguments, **options)
    check(result.code == 0,
          f"expected exit 0: {' '.join(map(str, arguments))}\n  exit {result.code}\n"
          f"  stdout: {result.out}\n  stderr: {result.err}")
    return result


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def run_tests(tests):
    """Each test gets an empty directory; all run, the exit code says whether all passed."""
    failed = 0
    for test in tests:
        directory = tempfile.mkdtemp(prefix="syrtos-cli-")
        try:
            outcome = test(directory)
            print(f"{'skipped' if outcome else 'ok     '}  {test.__name__}"
                  f"{': ' + outcome if outcome else ''}")
        except Exception:
            failed += 1
            print(f"FAILED   {test.__name__}")
            traceback.print_exc(limit=-1, file=sys.stdout)
        finally:
            subprocess.run(["chmod", "-R", "u+w", directory], check=False)
            shutil.rmtree(directory, ignore_errors=True)
    sys.exit(1 if failed else 0)
