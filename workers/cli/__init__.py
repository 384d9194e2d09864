"""`lastgood`, for a terminal: reads log lines over HTTP. The standard library only."""
