"""What can people do? A function a use case; the command line and the Dagster jobs parse, call these, and render."""
