"""What is different between two sides of a model? Keys, rows, columns, day by day; and whether that was expected."""
