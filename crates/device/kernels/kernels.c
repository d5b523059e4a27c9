/* All kernels: what a GPU's compiler is given, and the C compiler for the software device. */
#include "transform.cu"
#include "pointwise.cu"
#include "inner_product.cu"
#include "conversion.cu"
#include "diagonals.cu"
#include "combination.cu"
