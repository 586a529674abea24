"""The Numba family: each kernel of numba_kernels.py optimised, unoptimised, with line numbers, and for debugging."""

import json
import os
import pathlib
import sys
import types

# From compute capability 10.0 on, NVVM's newer code generator takes over and prints another dialect.
VARIANTS = {
    "opt-sm80": dict(cc=(8, 0)),
    "opt-sm100": dict(cc=(10, 0)),
    "lines-sm90": dict(cc=(9, 0), lineinfo=True),
    "unopt-sm75": dict(cc=(7, 5), opt=False),
    "debug-sm80": dict(cc=(8, 0), debug=True, opt=False),
    "debug-sm120": dict(cc=(12, 0), debug=True, opt=False),
}


def jobs(scratch):
    # Numba looks for NVVM and the math library below this folder; both come from a package.
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    os.environ["CUDA_HOME"] = str(pathlib.Path(packages) / "nvidia" / "cu13")
    import numba_kernels

    # The first compilation starts the compiler up; done here, the forks below need not.
    compile_ptx("saxpy-f4", VARIANTS["opt-sm80"])
    return {
        f"{name}-{variant}": lambda name=name, variant=variant: in_a_fork(lambda: compile_ptx(name, VARIANTS[variant]))
        for name in numba_kernels.KERNELS
        for variant in VARIANTS
    }


def in_a_fork(work):
    """Numba numbers all functions of a process and writes the number into their names. A fork for
    each module makes the names independent of what was compiled before, and so of -j."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = {"texts": work()}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(writer, "w") as stream:
            json.dump(answer, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    answer = json.loads(text) if text else {"error": f"the compiler's process died (status {status})"}
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["texts"]


def compile_ptx(name, variant):
    import numba_kernels
    from numba.cuda import compiler, dispatcher

    # A called device function asks the GPU in use for its capability. There is none, so we answer.
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=variant["cc"])

    function, signature, options = numba_kernels.KERNELS[name]
    if isinstance(signature, types.FunctionType):
        signature = signature()
    # What numba.cuda.compile_ptx does, except that it gives up when there is more than one module:
    # for debugging, NVVM gets each callee alone.
    library, _ = compiler._compile_pyfunc_with_fixup(
        function, signature, **{"device": False, "abi": "numba"} | options | variant
    )
    return library.get_asm_strs(cc=variant["cc"])
