"""A parcel: lines that the agent of their node has read and packed, for the door `packed`."""
