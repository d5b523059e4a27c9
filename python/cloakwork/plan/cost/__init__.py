"""What operations cost, modelled and measured."""
