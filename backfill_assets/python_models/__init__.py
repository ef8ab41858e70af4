"""What does a Python model stand for, and what could it reach? Its code is read; compiled in a closed process."""
