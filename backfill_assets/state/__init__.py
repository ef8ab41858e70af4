"""What happened so far? The ledger, the versions, the environments and the promotion journal, over a small table store."""
