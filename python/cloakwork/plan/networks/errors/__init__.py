"""How far the results of a network are from those in the clear: bounds, and what is likely."""
