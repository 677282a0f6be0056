"""Print what a letter costs: `price.py GRAMS ZONE`."""

import sys

grams, zone = int(sys.argv[1]), int(sys.argv[2])
print(f"{(85 + 40 * (grams > 20)) * zone / 100:.2f}")
