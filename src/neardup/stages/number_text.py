"""Text that is numbers: the same texts on one machine and on Spark, which parse them otherwise."""

#: Texts that Arrow casts to float64, and Spark to double, but for the sign of a NaN. Hexadecimal is
#: none, which only Arrow takes for an integer, nor is any text with spaces.
NUMBER = r"(?i)^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan)\z"
#: Below this float64 represents every integer.
EXACT = 2.0**53
#: Remedy for numbers as text that have no exact order.
REMEDY = "give it a numeric type, such as float64 in a Parquet file"
