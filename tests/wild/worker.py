"""One worker process: compiles modules of one family, one name at a time.

    worker.py FAMILY SCRATCH

Protocol, one line of JSON each way. First we print the list of all names of the family. Then for
each name read we answer {"texts": [the PTX, ...]} or {"error": why not}. The driver may kill us at any
moment (a compiler that loops) and survives our death (a compiler that aborts); this is why the
compilers live here and not in the driver.
"""

import importlib
import json
import os
import sys


def main():
    family, scratch = sys.argv[1], sys.argv[2]
    # Compilers print on both streams, some below Python. So we keep the real stdout for the
    # protocol alone and point file descriptors 1 and 2 at the log.
    answers = os.fdopen(os.dup(1), "w")
    log = open(os.path.join(scratch, f"{family}-{os.getpid()}.log"), "w")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)

    jobs = importlib.import_module(f"{family}_family").jobs(scratch)
    send(answers, list(jobs))
    for line in sys.stdin:
        name = json.loads(line)
        try:
            texts = jobs[name]()
            send(answers, {"texts": [texts] if isinstance(texts, str) else texts})
        except BaseException as error:  # a compiler's error may be any type, SystemExit included
            send(answers, {"error": f"{type(error).__name__}: {error}"})


def send(answers, value):
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
