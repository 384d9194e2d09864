"""Work that is done in several threads at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connection


def at_once(*works):
    """Runs all in threads of their own; the errors they raised."""
    ready = threading.Barrier(len(works))

    def run(work):
        ready.wait()
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        errors = [running.exception() for running in [pool.submit(run, work) for work in works]]
    return [error for error in errors if error is not None]
