"""A Spark application that does nothing: submitting it makes Spark fetch the jars of its configuration."""
