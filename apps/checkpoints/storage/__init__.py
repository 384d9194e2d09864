"""Where checkpoints lie: folders of a file system and of S3 buckets, read; deleted by erasing.py.

Nothing here knows Django or a table: it runs in a child process (child.py) with bounds on memory
and time, because a mount may hang and what lies there was written by others.
"""
