"""One training run on a node of a cluster: fetches the script and the dataset from the cloud, or
from where the cloud has put them, runs the script and sends what it made back. It needs Python's own library only.

The variable MACHINE_TRAINING_RUN says what to do, as JSON (see remote_run.ts); API_KEY_ID and
API_KEY are the run's own key, which ends with it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ATTEMPTS = 5
PIECE = 1 << 20
SCRIPT_IS_WRONG = 3


def log(text):
    print(text, flush=True)


def stop(text):
    print(text, file=sys.stderr, flush=True)
    sys.exit(SCRIPT_IS_WRONG)


def open_url(run, name, make_body=None):
    """Asks the cloud, again after failures that may pass."""
    for attempt in range(1, ATTEMPTS + 1):
        body = make_body() if make_body else None
        address = run["addresses"].get(name)
        headers = {}
        if address is None:
            headers = {"key_id": os.environ["API_KEY_ID"], "key": os.environ["API_KEY"]}
        if body is not None:
            headers["content-length"] = str(os.fstat(body.fileno()).st_size)
            headers["content-type"] = "application/gzip"
        method = "GET" if body is None else "PUT"
        url = address or run["url"] + name
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=120)
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode("utf-8", "replace")
            if error.code < 500 and error.code != 429:
                who = "cloud" if address is None else "object storage of the cloud"
                stop(f"the {who} refused {name}: {error.code} {said}")
            reason = f"{error.code} {said}"
        except OSError as error:
            reason = str(error)
        finally:
            if body is not None:
                body.close()
        if attempt == ATTEMPTS:
            if address is None:
                stop(f"cannot reach the cloud at {run['url']} from this host: {reason}")
            where = "://".join(urllib.parse.urlsplit(address)[:2])
            stop(f"cannot reach the object storage at {where} from this host: {reason}")
        time.sleep(2**attempt)


def fetch(run, name, into):
    archive = into + ".tar.gz"
    with open_url(run, name) as answer, open(archive, "wb") as file:
        shutil.copyfileobj(answer, file, PIECE)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(into, filter="data")
        else:
            tar.extractall(into)
    os.remove(archive)


def in_environment(folder, script, wanted):
    """A Python with what is wanted; sees the libraries of this host."""
    environment = os.path.join(folder, "environment")
    made = [sys.executable, "-m", "venv", "--system-site-packages", environment]
    log("making a Python environment")
    # Images often have pip, and not what brings it into an environment.
    if all(subprocess.run([*made, *more]).returncode != 0 for more in ([], ["--without-pip"])):
        stop("cannot make a Python environment: is the package python3-venv installed?")
    python = os.path.join(environment, "bin", "python3")
    log("installing what the training script requires")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet"]
    if subprocess.run([*pip, *wanted], cwd=script).returncode != 0:
        stop("pip cannot install the training script; what it says stands above")
    return python


def send(run, output):
    names = [name for name in sorted(os.listdir(output)) if name != "tmp"]
    if not names:
        stop(
            "the script exited without an error but left no file in the folder of "
            "--model_output_directory, so there is no model"
        )
    archive = output + ".tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for name in names:
            tar.add(os.path.join(output, name), name)
    log(f"sending the model, {os.path.getsize(archive)} bytes packed")
    open_url(run, "model.tar.gz", lambda: open(archive, "rb")).close()


def main():
    run = json.loads(os.environ.pop("MACHINE_TRAINING_RUN"))
    os.environ.pop("MACHINE_TRAINING_PROGRAM", None)
    with tempfile.TemporaryDirectory(prefix="machine-training-") as folder:
        script, dataset, output = (
            os.path.join(folder, name) for name in ("script", "dataset", "output")
        )
        os.mkdir(output)
        log("fetching the script and the dataset")
        fetch(run, "script.tar.gz", script)
        fetch(run, "dataset.tar.gz", dataset)
        environ = dict(os.environ, PYTHONUNBUFFERED="1")
        wanted = ["."] if run["install"] else run["requirements"]
        python = in_environment(folder, script, wanted) if wanted else sys.executable
        if not run["install"]:
            environ["PYTHONPATH"] = script
        values = [f"--{key}={value}" for key, value in run["arguments"].items()]
        values += [f"--{key}={os.path.join(script, path)}" for key, path in run["files"].items()]
        log("starting the training script")
        child = subprocess.Popen(
            [
                *(python, "-m", "model.training"),
                f"--dataset_file={run['dataset_file']}",
                f"--model_output_directory={output}",
                *values,
            ],
            cwd=dataset,
            env=environ,
        )
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        code = child.wait()
        if code != 0:
            how = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
            print(f"the script {how}", file=sys.stderr, flush=True)
            sys.exit(code if code > 0 else 128 - code)
        send(run, output)
    log("done")


main()
