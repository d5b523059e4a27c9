//! CKKS: approximate arithmetic on vectors of complex numbers.
