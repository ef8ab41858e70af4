"""Are the rows good? Audits compiled to one aggregate scan, and the verdict on what it finds."""
