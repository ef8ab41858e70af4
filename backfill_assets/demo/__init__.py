"""The embedded demo project: a marketing team's campaign tables, and a generator for its input."""
