"""What another tool's files mean here: translated where that is known, refused by line where it is not."""
