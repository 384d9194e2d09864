"""Which lines somebody asks for, and how they are found in chunks."""
