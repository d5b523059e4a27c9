"""Networks: packings, matrices, programs of layers."""
