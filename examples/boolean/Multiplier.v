// The product of two numbers of 32 bits.
module multiplier(
  input [31:0] a,
  input [31:0] b,
  output [63:0] product
);
  assign product = a * b;
endmodule
