"""The CuPy family: CUDA C++ through NVRTC.

Three sources, told apart by the start of the name:

    raw-*                the kernels that CuPy's Python modules hold as text, with their template instances
    loop-*, fold-*       CuPy's elementwise and reduction kernels, put into CuPy's own code templates for some types
    cuda-*               our own files in the folder cuda/, many built on the headers that CuPy ships

CuPy imports without a GPU; only its solvers, which need libraries we do not install, must be feigned.
"""

import gc
import importlib
import os
import pathlib
import pkgutil
import re
import sys
import types
import unittest.mock
import warnings

import nvrtc

DEBUG = ["--device-debug", "--generate-line-info"]
LINES = ["--generate-line-info"]

RAW_VARIANTS = {
    "opt-sm75": ["-arch=compute_75"],
    "opt-sm90": ["-arch=compute_90"],
    "opt-sm100": ["-arch=compute_100"],
    "lines-sm80": ["-arch=compute_80", *LINES],
    "debug-sm80": ["-arch=compute_80", *DEBUG],
    "debug-sm120": ["-arch=compute_120", *DEBUG],
}
# The small generated kernels get one of these each, in turn.
SMALL_VARIANTS = [
    ("opt-sm80", ["-arch=compute_80"]),
    ("opt-sm90", ["-arch=compute_90"]),
    ("lines-sm75", ["-arch=compute_75", *LINES]),
    ("opt-sm100", ["-arch=compute_100"]),
    ("debug-sm80", ["-arch=compute_80", *DEBUG]),
    ("opt-sm120", ["-arch=compute_120"]),
    ("debug-sm90", ["-arch=compute_90", *DEBUG]),
    ("lines-sm100", ["-arch=compute_100", *LINES]),
]
OWN_VARIANTS = RAW_VARIANTS | {
    "opt-sm80": ["-arch=compute_80"],
    "fast-sm80": ["-arch=compute_80", "--use_fast_math", "--extra-device-vectorization"],
    "linkable-sm90": ["-arch=compute_90", "--relocatable-device-code=true"],
    "debugopt-sm90": ["-arch=compute_90", "--device-debug", "--dopt=on"],
}
# CuPy puts these before every kernel it generates, and sets these options.
HEADERS = "".join(f"#include <cupy/{name}.cuh>\n" for name in ("complex", "carray", "atomics")) + \
    "#include <cupy/math_constants.h>\n"
OPTIONS = ["-std=c++17", "-ftz=true"]
# Some raw modules have an instance per type, up to 180. The first ones of each template say it all.
INSTANCES_OF_TEMPLATE_MAX = 3

# Modules that load a library we do not install, or need such a module. Each becomes a shell that
# gives a dummy for any name; the packages among them can still be searched for submodules.
FEIGNED = [
    "cupy.cublas", "cupy.cuda.cufft", "cupyx._cusolver", "cupyx._cutensor", "cupyx.cusolver", "cupyx.cusparse",
    "cupyx.cutensor", "cupyx.lapack", "cupyx.scipy.linalg", "cupyx.scipy.sparse.linalg",
]
FEIGNED_PACKAGES = [
    "cupyx.scipy.signal", "cupyx.scipy.signal.windows", "cupyx.scipy.interpolate", "cupyx.signal",
    "cupyx.signal._filtering", "cupyx.signal._radartools",
]


def jobs(scratch):
    os.environ["CUPY_CACHE_DIR"] = os.path.join(scratch, "cupy-cache")
    warnings.simplefilter("ignore")
    import_everything()
    table = {}
    for part in (own_jobs, raw_jobs, small_jobs):
        for name, job in part():
            assert name not in table, name
            table[name] = job
    return table


# ---- our own files --------------------------------------------------------------------------------


def own_jobs():
    for path in sorted((pathlib.Path(__file__).parent / "cuda").glob("*.cu")):
        text = path.read_text()
        least = int((re.search(r"// needs compute_(\d+)", text) or [0, "0"])[1])
        for variant, options in OWN_VARIANTS.items():
            arch = int(re.search(r"compute_(\d+)", options[0])[1])
            if arch >= least:
                yield f"cuda-{path.stem}-{variant}", lambda text=text, options=options: nvrtc.compile_ptx(
                    text, ["-std=c++17", "--device-int128", *options])


# ---- kernels that CuPy holds as text --------------------------------------------------------------


def raw_jobs():
    for raw in sorted(alive("RawModule", "RawKernel"), key=lambda raw: raw.code):
        # Before the name of a kernel: the first one in the text is as good a name for the module as any.
        kernel = re.search(r"__global__\s+(?:__launch_bounds__\(.*?\)\s*)?void\s+(?:__launch_bounds__\(.*?\)\s*)?(\w+)", raw.code)
        name = kernel[1] if kernel else "unnamed"
        instances = first_instances(getattr(raw, "name_expressions", None) or [])
        for variant, options in RAW_VARIANTS.items():
            yield f"raw-{name}-{variant}", lambda raw=raw, options=options, instances=instances: nvrtc.compile_ptx(
                raw.code, ["-std=c++17", "-ftz=true", *(o for o in raw.options if not o.startswith("-std")), *options], instances)


def first_instances(names):
    counts, kept = {}, []
    for name in names:
        template = name.split("<")[0]
        counts[template] = counts.get(template, 0) + 1
        if counts[template] <= INSTANCES_OF_TEMPLATE_MAX:
            kept.append(name)
    return kept


# ---- kernels that CuPy generates ------------------------------------------------------------------


def small_jobs():
    import cupy

    seen = {}
    count = 0
    sources = [
        *(("loop", ufunc_sources, o) for o in alive("ufunc")),
        *(("loop", elementwise_sources, o) for o in [*alive("ElementwiseKernel"), *image_kernels(cupy)]),
        *(("fold", simple_reduction_sources, o) for o in alive("_SimpleReductionKernel")),
        *(("fold", reduction_sources, o) for o in alive("ReductionKernel")),
    ]
    for kind, expand, kernel in sources:
        base = f"{kind}-{kernel.name.removeprefix('cupy_').removeprefix('cupyx_')}"
        seen[base] = seen.get(base, 0) + 1
        if seen[base] > 1:
            base += f"-{seen[base]}"
        variant, options = SMALL_VARIANTS[count % len(SMALL_VARIANTS)]
        yield f"{base}-{variant}", lambda expand=expand, kernel=kernel, count=count, options=options: first_that_compiles(
            expand(kernel, count), [*OPTIONS, *getattr(kernel, "options", ()), *options])
        count += 1


def first_that_compiles(sources, options):
    """A kernel's parameter types are free, but not every choice makes sense. We try the likely ones."""
    error = nvrtc.Error("no source")
    for source in sources:
        try:
            return nvrtc.compile_ptx(HEADERS + source, options)
        except nvrtc.Error as reason:
            error = reason
    raise error


def shapes(count):
    """Number of dimensions, whether contiguous, whether indices fit 32 bits: CuPy has code for each."""
    return [(1, True, True), (2, False, True), (1, False, False), (3, False, True), (2, True, False)][count % 5]


def array_info(dtype, count):
    import cupy
    import cupy._core._kernel as k

    return k._ArgInfo(1, cupy.ndarray, dtype, *shapes(count))


def index_info(count):
    import cupy._core._kernel as k

    dims, _, narrow = shapes(count)
    return k._ArgInfo(2, k._TypeMap, None, dims, True, narrow)


def elementwise_sources(kernel, count):
    import cupy._core._kernel as k
    import numpy as np

    letters = sorted({p.ctype for p in kernel.params if p.dtype is None and p.ctype})
    choices = []
    for first, others in [("f4", "f4"), ("f4", "i4"), ("i4", "i4"), ("f8", "i8"), ("c8", "c8"), ("i8", "f8"), ("u4", "f4"),
                          ("f8", "c16"), ("bool", "u1")]:
        choices.append({letter: np.dtype(first if letter in ("T", "X") else others) for letter in letters})
    # An input may be one number for all elements. A few kernels count on that for some of theirs.
    inputs = [p.name for p in kernel.in_params if not p.raw]
    for scalars in ([], inputs[1:], inputs):
        for choice in choices:
            infos = []
            for p in kernel.params:
                if not p.ctype:
                    infos.append(index_info(count))
                elif p.name in scalars:
                    infos.append(k._ArgInfo(3, int, p.dtype or choice[p.ctype], 0, True, True))
                else:
                    infos.append(array_info(p.dtype or choice[p.ctype], count))
            type_map = k._TypeMap(tuple((letter, dtype.type) for letter, dtype in choice.items()))
            yield k._get_elementwise_kernel_code(
                tuple(infos), type_map, kernel.params, kernel.operation, kernel.name, kernel.preamble,
                kernel.kwargs.get("loop_prep", ""), kernel.kwargs.get("after_loop", ""), ())


def ufunc_sources(ufunc, count):
    """One entry of the ufunc's list of types; which one depends on the count, to see many types."""
    import cupy
    import cupy._core._kernel as k

    operations = [op for op in ufunc._ops.ops if isinstance(op.routine, str)]
    for step in range(len(operations)):
        op = operations[(count + step) % len(operations)]
        names = [(f"in{i}", t) for i, t in enumerate(op.in_types)] + [(f"out{i}", t) for i, t in enumerate(op.out_types)]
        typedefs = "".join(f"typedef {k._get_typename(t)} {name}_type;\n" for name, t in names)
        listed = [f"{t} {name}" for name, t in names]
        plain = cupy.ElementwiseKernel(
            ", ".join(listed[: len(op.in_types)]), ", ".join(listed[len(op.in_types):]), op.routine, ufunc.name,
            preamble=typedefs + ufunc._preamble, loop_prep=ufunc._loop_prep)
        yield from elementwise_sources(plain, count)


def simple_reduction_sources(kernel, count):
    import cupy._core._kernel as k

    operations = kernel._ops.ops
    for step in range(len(operations)):
        op = operations[(count + step) % len(operations)]
        yield fold_source(
            kernel, count, [op.in_types[0]], [op.out_types[0]], op.routine,
            k._TypeMap((("type_in0_raw", op.in_types[0].type), ("type_out0_raw", op.out_types[0].type))),
            kernel._input_expr, kernel._output_expr)


def reduction_sources(kernel, count):
    import cupy._core._kernel as k
    import numpy as np

    letters = sorted({p.ctype for p in kernel.in_params + kernel.out_params if p.dtype is None})
    for first, others in [("f4", "f4"), ("f8", "i4"), ("i4", "i4"), ("c8", "f4")]:
        choice = {letter: np.dtype(first if letter == "T" else others) for letter in letters}
        types_of = lambda params: [p.dtype or choice[p.ctype] for p in params]
        inputs = [p for p in kernel.in_params if not p.raw]
        outputs = [p for p in kernel.out_params if not p.raw]
        for scalars in ([], inputs[1:]):
            reads = "".join(f"const {p.ctype} {p.name} = _raw_{p.name}[_in_ind.get()];" for p in inputs if p not in scalars)
            writes = "".join(f"{p.ctype} &{p.name} = _raw_{p.name}[_out_ind.get()];" for p in outputs)
            yield fold_source(
                kernel, count, types_of(kernel.in_params), types_of(kernel.out_params),
                (kernel.map_expr, kernel.reduce_expr, kernel.post_map_expr, kernel.reduce_type),
                k._TypeMap(tuple((letter, dtype.type) for letter, dtype in choice.items())), reads, writes,
                [p.name for p in scalars])


def fold_source(kernel, count, in_types, out_types, routine, type_map, reads, writes, scalars=()):
    import cupy._core._kernel as k
    import cupy._core._reduction as reduction
    import numpy as np

    map_expr, reduce_expr, post_map_expr, reduce_type = routine
    arrays = iter([*in_types, *out_types])
    index = np.int32 if shapes(count)[2] else np.int64
    type_map = k._TypeMap((*type_map._pairs, ("IndexT", index)))
    infos = []
    for p in kernel._params:
        if p.name in ("_in_ind", "_out_ind"):
            infos.append(index_info(count))
        elif p.name == "_block_stride":
            infos.append(k._ArgInfo(3, int, np.dtype("i4"), 0, True, True))
        elif p.name in scalars:
            infos.append(k._ArgInfo(3, int, next(arrays), 0, True, True))
        else:
            infos.append(array_info(next(arrays), count))
    return reduction._create_reduction_function_code(
        kernel.name, 512 >> count % 3, reduce_type or k._get_typename(out_types[0]), kernel._params, tuple(infos), kernel.identity,
        map_expr, reduce_expr, post_map_expr, type_map, reads, writes, kernel.preamble, ())


def image_kernels(cupy):
    """Image filters and interpolations are generated on demand; we ask for some."""
    from cupyx.scipy.ndimage import _filters, _interp_kernels

    for mode, order in [("constant", 0), ("nearest", 1), ("mirror", 3), ("grid-wrap", 5)]:
        yield _interp_kernels._get_map_kernel(2, False, mode, cval=0.0, order=order, nprepad=0)
        yield _interp_kernels._get_affine_kernel(3, True, (9, 9, 9), mode, cval=0.0, order=order, nprepad=0)
        yield _interp_kernels._get_zoom_kernel(2, False, (64, 64), mode, order=order, nprepad=0)
    for mode in ["reflect", "wrap"]:
        yield _filters._get_correlate_kernel((mode, mode), (5, 3), "int", (2, 1), 0.0)
        yield _filters._get_rank_kernel(25, 12, (mode, mode), (5, 5), (2, 2), 0.0, "int")
        yield _filters._get_min_or_max_kernel((mode, mode), (5, 5), "max", (2, 2), 0.0, "int", True)


# ---- CuPy without its libraries -------------------------------------------------------------------


class Shell(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return unittest.mock.MagicMock(name=name)


def import_everything():
    import cupy
    import cupyx

    # The decorator that keeps one generated kernel per GPU would ask which GPU is in use.
    cupy._util.memoize = lambda for_each_device=False: lambda function: function

    for name in FEIGNED + FEIGNED_PACKAGES:
        shell = sys.modules[name] = Shell(name)
        shell.__file__ = "feigned"
        shell.__path__ = []
        if name in FEIGNED_PACKAGES:
            shell.__path__ = [os.path.join(os.path.dirname(cupyx.__file__), *name.split(".")[1:])]

    names = []
    for package in (cupy, cupyx):
        names += [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None)]
    for name in FEIGNED_PACKAGES:
        names += [m.name for m in pkgutil.iter_modules(sys.modules[name].__path__, name + ".")]
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:  # some need a library at import and hold no kernels
            print("not imported:", name, type(error).__name__, flush=True)


def alive(*type_names):
    """All living kernels of these types, in an order that does not depend on the garbage collector."""
    found = [o for o in gc.get_objects() if type(o).__name__ in type_names]

    def key(o):
        operation = getattr(o, "operation", None) or getattr(o, "map_expr", None) or getattr(o, "code", None) or ""
        return getattr(o, "name", None) or "", operation, [(p.name, str(p.ctype)) for p in getattr(o, "params", None) or ()]

    return sorted(found, key=key)
