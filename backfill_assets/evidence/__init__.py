"""What can be shown for a plan afterwards? One folder: the packet, a page to read, two messages, hashes of it all."""
