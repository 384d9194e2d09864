"""Names that a pickle may not have: with them, loading it runs what its writer wanted.

Three answers. Inert: what torch.save writes of tensors, containers and random states. Unsafe: can
run code by itself. Foreign: a class of another package; torch.load with weights_only=True refuses
it, and without that it runs the class's own code. Source of the unsafe names: what public scanners
of model files list, and what the standard library can start, open or import.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Trust(StrEnum):
    """What a name means for who loads the pickle."""

    INERT = "inert"
    FOREIGN = "foreign"
    UNSAFE = "unsafe"


_BUILTINS = frozenset(("builtins", "__builtin__", "__builtins__"))
_INERT_BUILTINS = frozenset(
    """
    bool bytearray bytes complex dict float frozenset int list object range set slice str tuple
    long unicode Ellipsis NoneType NotImplemented
    """.split()  # noqa: SIM905 - a table of a hundred lines says no more
)
_INERT = frozenset(
    (
        "_codecs.encode",
        "argparse.Namespace",
        "collections.Counter",
        "collections.OrderedDict",
        "collections.defaultdict",
        "collections.deque",
        "copyreg._reconstructor",
        "copy_reg._reconstructor",
        "datetime.date",
        "datetime.datetime",
        "datetime.timedelta",
        "datetime.timezone",
        "decimal.Decimal",
        "fractions.Fraction",
        "functools.partial",
        "numpy.dtype",
        "numpy.ndarray",
        "torch.Size",
        "torch.Tensor",
        "torch.device",
        "torch.serialization._get_layout",
        "types.SimpleNamespace",
        "uuid.UUID",
    )
)
_INERT_PACKAGES = ("numpy._core.multiarray.", "numpy.core.multiarray.", "numpy.random.", "pathlib.")
_UNSAFE_PACKAGES = frozenset(
    """
    _aix_support _bootsubprocess _ctypes _io _osx_support _pickle _posixsubprocess _pyrepl _signal
    _socket _sqlite3 _thread aiohttp ast asyncio asyncore atexit bdb cgi code codecs codeop
    compileall concurrent cProfile ctypes dbm dill distutils doctest ensurepip faulthandler
    fileinput ftplib gc glob http httplib httpx idlelib imaplib imp importlib inspect io joblib
    linecache marshal mmap modulefinder msvcrt multiprocessing nt ntpath numba operator os os2 pdb
    pickle pip pkgutil platform popen2 poplib posix posixpath posixsubprocess profile pty pydoc
    py_compile requests runpy sched select selectors setuptools shelve shlex shutil signal site
    smtplib socket socketserver spwd sqlite3 ssl subprocess sys sysconfig syslog tarfile telnetlib
    tempfile threading timeit tkinter trace traceback types unittest urllib urllib2 urllib3 uu
    uvicorn venv webbrowser winreg wsgiref xmlrpc zipapp zipfile zipimport
    """.split()  # noqa: SIM905 - a table of a hundred lines says no more
)
_UNSAFE_PREFIXES = (
    "logging.config",
    "logging.handlers",
    "numpy.ctypeslib",
    "numpy.distutils",
    "numpy.f2py",
    "numpy.testing",
    "torch._dynamo",
    "torch._inductor",
    "torch.distributed.elastic",
    "torch.hub",
    "torch.jit",
    "torch.multiprocessing",
    "torch.package",
    "torch.utils.cpp_extension",
    "torch.utils.collect_env",
)
_UNSAFE_NAMES = frozenset(
    ("functools.reduce", "torch.load", "torch.save", "torch.serialization.load", "numpy.load")
)
_CONSTANT = re.compile(
    r"torch\.(?:(?:b?float|complex|u?int|qu?int|bits)\d+\w*|bool|float|double|half|int|long|short"
    r"|strided|sparse_\w+|preserve_format|contiguous_format|channels_last\w*"
    r"|per_(?:tensor|channel)_\w+)"
)
_FUNCTIONS_KEPT = ("torch._utils._rebuild", "torch._tensor._rebuild", "torch.nn.", "torch._C._nn.")


def trust(module: str, name: str) -> Trust:
    """How far `module.name` can be trusted when a pickle names it."""
    full = f"{module}.{name}"
    package, _, rest = module.partition(".")
    if package in _BUILTINS:
        return Trust.INERT if name in _INERT_BUILTINS and not rest else Trust.UNSAFE
    if full in _INERT or full.startswith(_INERT_PACKAGES):
        return Trust.INERT
    if _reaches_out(module, name) or full in _UNSAFE_NAMES or full.startswith(_UNSAFE_PREFIXES):
        return Trust.UNSAFE
    return _of_torch(full, name) if package == "torch" else Trust.FOREIGN


def _reaches_out(module: str, name: str) -> bool:
    """Whether a part of the path is a module that can start things: `torch.os.system` is one."""
    parts = [*module.split("."), *name.split(".")]
    dotted = "." in name and any(part.startswith("__") for part in parts)
    return dotted or parts[0] in _UNSAFE_PACKAGES or bool(_STARTERS.intersection(parts[1:]))


_STARTERS = frozenset(("os", "sys", "subprocess", "posix", "builtins", "importlib", "shutil"))


def _of_torch(full: str, name: str) -> Trust:
    """Types and the functions that build tensors are inert; other functions do things."""
    last = name.rpartition(".")[2]
    if full.startswith(_FUNCTIONS_KEPT) or last.startswith("_rebuild"):
        return Trust.INERT
    return Trust.INERT if last[:1].isupper() or _CONSTANT.fullmatch(full) else Trust.UNSAFE
