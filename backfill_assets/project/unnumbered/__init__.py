"""Records of 4096d34, which hold neither files, sources nor settings: are these as they were? By the hashes of then."""
