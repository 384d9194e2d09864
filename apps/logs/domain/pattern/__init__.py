"""What many lines have in common, who said it first, and what is new."""
