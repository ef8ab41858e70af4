"""What is promised to consumers, whom does a plan break it for, and is all known that has to be? Without a JVM."""
