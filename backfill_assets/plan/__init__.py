"""What is there to do, in which order? Pure functions from what is and what should be to a list of stages."""
