// Adders for Yosys' techmap with one AND for every carry, and XORs: J. Boyar, R. Peralta and
// D. Pochuev, "On the multiplicative complexity of Boolean functions over the basis (and, xor, 1)",
// Theoretical Computer Science 235 (2000). The carry of a, b and c is ((a ^ c) & (b ^ c)) ^ c.
//
// Of templates for one cell Yosys takes the first by name: these come before its own.

(* techmap_celltype = "$fa" *)
module _10_fa(A, B, C, X, Y);
  parameter WIDTH = 1;
  (* force_downto *) input [WIDTH-1:0] A, B, C;
  (* force_downto *) output [WIDTH-1:0] X, Y;
  assign Y = A ^ B ^ C;
  assign X = ((A ^ C) & (B ^ C)) ^ C;
endmodule

(* techmap_celltype = "$alu" *)
module _10_alu(A, B, CI, BI, X, Y, CO);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  (* force_downto *) input [A_WIDTH-1:0] A;
  (* force_downto *) input [B_WIDTH-1:0] B;
  input CI, BI;
  (* force_downto *) output [Y_WIDTH-1:0] X, Y, CO;

  wire [Y_WIDTH-1:0] a, b;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a(.A(A), .Y(a));
  \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_b(.A(B), .Y(b));
  wire [Y_WIDTH-1:0] operand = b ^ {Y_WIDTH{BI}};
  wire [Y_WIDTH:0] carry;
  assign carry[0] = CI;
  genvar place;
  generate
    for (place = 0; place < Y_WIDTH; place = place + 1) begin : places
      assign carry[place+1] =
        ((a[place] ^ carry[place]) & (operand[place] ^ carry[place])) ^ carry[place];
    end
  endgenerate
  assign X = a ^ operand;
  assign Y = X ^ carry[Y_WIDTH-1:0];
  assign CO = carry[Y_WIDTH:1];
endmodule

// A power by a constant, of squares: Yosys has gates for powers of 2 only.
(* techmap_celltype = "$pow" *)
module _10_pow(A, B, Y);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  parameter _TECHMAP_CONSTMSK_B_ = 0;
  parameter _TECHMAP_CONSTVAL_B_ = 0;
  (* force_downto *) input [A_WIDTH-1:0] A;
  (* force_downto *) input [B_WIDTH-1:0] B;
  (* force_downto *) output [Y_WIDTH-1:0] Y;

  localparam [B_WIDTH-1:0] exponent = _TECHMAP_CONSTVAL_B_;
  wire _TECHMAP_FAIL_ =
    _TECHMAP_CONSTMSK_B_ != {B_WIDTH{1'b1}} || (B_SIGNED && exponent[B_WIDTH-1]);
  wire [Y_WIDTH*(B_WIDTH+1)-1:0] squares, products;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a(
    .A(A), .Y(squares[Y_WIDTH-1:0]));
  assign products[Y_WIDTH-1:0] = 1;
  genvar place;
  generate
    for (place = 0; place < B_WIDTH; place = place + 1) begin : places
      wire [Y_WIDTH-1:0] square = squares[place*Y_WIDTH +: Y_WIDTH];
      wire [Y_WIDTH-1:0] product = products[place*Y_WIDTH +: Y_WIDTH];
      if (exponent >> place > 1)
        assign squares[(place+1)*Y_WIDTH +: Y_WIDTH] = square * square;
      if (exponent[place])
        assign products[(place+1)*Y_WIDTH +: Y_WIDTH] = product * square;
      else
        assign products[(place+1)*Y_WIDTH +: Y_WIDTH] = product;
    end
  endgenerate
  assign Y = products[B_WIDTH*Y_WIDTH +: Y_WIDTH];
endmodule

// A multiplexer that has a constant is an AND or an OR, which Yosys sees for two of four.
(* techmap_celltype = "$_MUX_" *)
module _10_mux(A, B, S, Y);
  parameter _TECHMAP_CONSTMSK_A_ = 0;
  parameter _TECHMAP_CONSTVAL_A_ = 0;
  parameter _TECHMAP_CONSTMSK_B_ = 0;
  parameter _TECHMAP_CONSTVAL_B_ = 0;
  input A, B, S;
  output Y;

  wire _TECHMAP_FAIL_ = !_TECHMAP_CONSTMSK_A_ && !_TECHMAP_CONSTMSK_B_;
  generate
    if (_TECHMAP_CONSTMSK_A_) begin : constant_a
      assign Y = _TECHMAP_CONSTVAL_A_ ? ~S | B : S & B;
    end else begin : constant_b
      assign Y = _TECHMAP_CONSTVAL_B_ ? S | A : ~S & A;
    end
  endgenerate
endmodule
