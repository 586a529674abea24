"""Drives the making of the wild set: shares the jobs out, checks every module, writes the summary.

Called by the script `make`, which owns the folders. Writes into --out:

    FAMILY/NAME.ptx   the modules
    failures.txt      what was tried and is not there, with the reason
    summary.txt       one line per family
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import queue
import re
import select
import subprocess
import sys
import threading
import time

FAMILIES = ["triton", "numba", "cupy"]
# The slowest module takes about a tenth of this on a slow core. Only a hanging compiler reaches it.
JOB_SECONDS_MAX = 180
# A family's start imports its compiler and reads all its kernels.
START_SECONDS_MAX = 180
# One module must not be most of the set: beyond this it tests a parser's patience only.
MODULE_BYTES_MAX = 8_000_000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("families", nargs="*")
    args = parser.parse_args()

    failures, lines = [], []
    for family in args.families or FAMILIES:
        started = time.monotonic()
        (args.out / family).mkdir()
        made = Making(family, args).run()
        failures += made.failures
        good = check(args, family, made.written, failures)
        bytes_total = sum(path.stat().st_size for path in good)
        lines.append(
            f"{family}: {len(good)} modules, {bytes_total / 1e6:.1f} MB, "
            f"{sum(map(instruction_count, good))} instructions, {time.monotonic() - started:.0f} s; "
            f"{made.duplicate_count} equal to another and left out, {made.tried - len(good) - made.duplicate_count} failed"
        )
        print("wild:", lines[-1], file=sys.stderr, flush=True)
    (args.out / "failures.txt").write_text("".join(sorted(failures)))
    (args.out / "summary.txt").write_text("".join(line + "\n" for line in lines))
    if any(re.match(r"\w+: 0 modules", line) for line in lines):
        sys.exit("wild: a family made nothing; its failures are above")


class Making:
    """Compiles one family with several workers. Each worker is fed by one thread of ours."""

    def __init__(self, family, args):
        self.family, self.args = family, args
        self.failures, self.written = [], []
        self.duplicate_count, self.tried = 0, 0
        self.lock = threading.Lock()
        self.names = queue.Queue()
        self.listed = False

    def run(self):
        threads = [threading.Thread(target=self.feed) for _ in range(self.args.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.drop_equals()
        return self

    def feed(self):
        worker = None
        while True:
            if worker is None:
                worker = self.start()
                if worker is None:
                    return
            try:
                name = self.names.get_nowait()
            except queue.Empty:
                worker.stop()
                return
            answer = worker.ask(name)
            with self.lock:
                self.tried += 1
                self.keep(name, answer)
            if not worker.alive:
                worker.stop()
                worker = None

    def start(self):
        worker = Worker(self.family, self.args.scratch)
        names = worker.read(START_SECONDS_MAX)
        if not isinstance(names, list):
            worker.stop()
            with self.lock:
                self.fail("(start)", names["error"])
            return None
        with self.lock:
            if not self.listed:
                self.listed = True
                for name in names:
                    self.names.put(name)
        return worker

    def keep(self, name, answer):
        if "error" in answer:
            return self.fail(name, answer["error"])
        texts = answer["texts"]
        self.keep_text(name, texts[0])
        for index, text in enumerate(texts[1:], 2):
            self.tried += 1
            self.keep_text(f"{name}-part{index}", text)

    def keep_text(self, name, text):
        if len(text) > MODULE_BYTES_MAX:
            return self.fail(name, f"too long: {len(text)} bytes, limit {MODULE_BYTES_MAX}")
        path = self.args.out / self.family / f"{name}.ptx"
        path.write_text(text)
        self.written.append(path)

    def drop_equals(self):
        """Of equal modules keeps the first by name, whatever the order in which the workers made them."""
        self.written.sort()
        seen, kept = set(), []
        for path in self.written:
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest in seen:
                path.unlink()
            else:
                seen.add(digest)
                kept.append(path)
        self.duplicate_count = len(self.written) - len(kept)
        self.written = kept

    def fail(self, name, reason):
        line = f"{self.family}/{name}: {one_line(reason)}\n"
        print("wild:", line, end="", file=sys.stderr, flush=True)
        self.failures.append(line)


class Worker:
    """A worker process with a time limit on each answer."""

    def __init__(self, family, scratch):
        here = pathlib.Path(__file__).parent
        # -B: the scripts' folder is in a checkout, which gets no bytecode from us.
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(here / "worker.py"), family, str(scratch)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            # The same order of sets in every run, or some modules would differ from run to run.
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )
        self.log = scratch / f"{family}-{self.process.pid}.log"
        self.alive = True

    def ask(self, name):
        self.process.stdin.write(json.dumps(name).encode() + b"\n")
        return self.read(JOB_SECONDS_MAX)

    def read(self, seconds):
        deadline = time.monotonic() + seconds
        pieces = []
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                self.alive = False
                return {"error": f"no answer in {seconds} s"}
            piece = self.process.stdout.read(1 << 16)
            if not piece:
                self.alive = False
                code = self.process.wait()
                return {"error": f"the compiler's process died (status {code}): {self.last_words()}"}
            pieces.append(piece)
            if piece.endswith(b"\n"):
                return json.loads(b"".join(pieces))

    def last_words(self):
        try:
            return self.log.read_text(errors="replace")[-300:]
        except OSError:
            return "no log"

    def stop(self):
        self.process.kill()
        self.process.wait()


def check(args, family, paths, failures):
    """Keeps the modules that ptxas accepts, in its mode that parses and makes no code."""

    def rejected_for(path):
        text = path.read_text()
        target = re.search(r"^\s*\.target\s+sm_(\w+)", text, re.M)
        if not target:
            return "no .target line"
        run = subprocess.run([args.ptxas, f"-arch=compute_{target[1]}", str(path), "-o", "/dev/null"],
                             capture_output=True, text=True)
        return None if run.returncode == 0 else "ptxas: " + (run.stderr + run.stdout).replace(str(path), "")

    good = []
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        for path, reason in zip(paths, pool.map(rejected_for, paths)):
            if reason is None:
                good.append(path)
            else:
                failures.append(f"{family}/{path.stem}: {one_line(reason)}\n")
                print("wild:", failures[-1], end="", file=sys.stderr, flush=True)
                path.unlink()
    return good


def instruction_count(path):
    """Roughly: lines that end in a semicolon, after the comment is cut."""
    text = re.sub(r"//.*", "", path.read_text())
    return len(re.findall(r";[ \t]*$", text, re.M))


def one_line(text):
    return " ".join(text.split())[:600]


if __name__ == "__main__":
    main()
