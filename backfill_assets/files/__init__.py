"""Files that people wrote: read with their lines, what is wrong in them as problems."""
