"""Which SQL does a PySpark function build? Authors' code run on stand-ins, in a process that plans nothing.

The stand-ins hand what they are given to SQLFrame and let nothing else through: a function that reads a value which its
SQL would not show (a row, the interval, the clock, a file), or that calls what is not proved to mean in SQL what it
means in PySpark (`forms.py`), ends in `Escape`, and then it has no SQL. So two functions of the same SQL do the same.
"""
