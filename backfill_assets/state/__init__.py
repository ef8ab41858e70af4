"""What happened so far? The ledger, the versions, the audit results and the environments, over a table store."""
