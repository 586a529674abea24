"""NVRTC, the CUDA C++ compiler as a library, through ctypes. It needs no GPU and no driver to print PTX."""

import ctypes
import pathlib
import sys

PACKAGES = pathlib.Path(next(path for path in sys.path if path.endswith("site-packages")))
CUDA = PACKAGES / "nvidia" / "cu13"
CUPY_INCLUDE = PACKAGES / "cupy" / "_core" / "include"
INCLUDES = [
    CUPY_INCLUDE,
    *(CUPY_INCLUDE / "cupy" / "_cccl" / part for part in ("cub", "thrust", "libcudacxx")),
    CUDA / "include",
]


class Error(Exception):
    pass


def compile_ptx(source, options, instances=()):
    """The PTX of `source`. `instances` are names of kernels or template instances that must be in it."""
    library = load()
    program = ctypes.c_void_p()
    answer = library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    if answer != 0:
        raise Error(f"nvrtcCreateProgram gave {answer}")
    try:
        for instance in instances:
            library.nvrtcAddNameExpression(program, instance.encode())
        words = [f"-I{path}" for path in INCLUDES] + ["--device-as-default-execution-space", *options]
        array = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        if library.nvrtcCompileProgram(program, len(words), array) != 0:
            raise Error(first_errors(text_of(library, program, "ProgramLog")))
        return text_of(library, program, "PTX")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def load():
    global _library
    if _library is None:
        # The compiler looks for its built-in functions by bare name; loaded first, they are found.
        ctypes.CDLL(str(next((CUDA / "lib").glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
        _library = ctypes.CDLL(str(next((CUDA / "lib").glob("libnvrtc.so.*"))))
    return _library


_library = None


def text_of(library, program, what):
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()


def first_errors(log):
    lines = [line for line in log.splitlines() if "error" in line]
    return " | ".join(lines[:2]) or log[:300]
