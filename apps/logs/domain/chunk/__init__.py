"""Lines packed into chunks, merged and deleted; what of a file is stored already."""
