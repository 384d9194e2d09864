"""From the bytes of log files to lines: prefixes, times, levels, ranks, tracebacks, numbers."""
