"""How does a version get its rows? Batches beside prod, each committed, recorded, audited."""
