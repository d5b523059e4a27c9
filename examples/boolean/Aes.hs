-- | AES-128 (FIPS 197), a block at a time, as circuits with few ANDs.
--
-- The S-box is the circuit of Boyar, Matthews and Peralta, "Logic minimization techniques with
-- applications to cryptology", Journal of Cryptology 26 (2013): 32 ANDs. Everything else is XOR.
--
-- What is marked NOINLINE becomes a module of its own, which Yosys reads once.
module Aes (decrypt, encrypt, expandKey) where

import Clash.Prelude

type Byte = BitVector 8

-- | The state of the standard, column after column: the order of the bytes of a block.
type Block = Vec 16 Byte

type Column = Vec 4 Byte

-- | All eleven round keys, one after another.
type ExpandedKey = Vec 176 Byte

encrypt :: ExpandedKey -> Block -> Block
encrypt key block = final (foldl middle (addRoundKey block first) (init rest))
  where
    (first, rest) = roundKeys key
    middle state = addRoundKey (mixColumns (shiftRows (map subByte state)))
    final state = addRoundKey (shiftRows (map subByte state)) (last rest)

decrypt :: ExpandedKey -> Block -> Block
decrypt key block = addRoundKey (foldl middle (initial block) (reverse (init rest))) first
  where
    (first, rest) = roundKeys key
    initial state = unwind (addRoundKey state (last rest))
    middle state roundKey = unwind (invMixColumns (addRoundKey state roundKey))
    unwind state = map invSubByte (invShiftRows state)

-- | The round keys that follow from a key (section 5.2 of the standard).
expandKey :: Vec 16 Byte -> ExpandedKey
expandKey key = concat (scanl nextRoundKey key constants)
  where
    constants =
      0x01 :> 0x02 :> 0x04 :> 0x08 :> 0x10 :> 0x20 :> 0x40 :> 0x80 :> 0x1b :> 0x36 :> Nil

nextRoundKey :: Block -> Byte -> Block
nextRoundKey roundKey constant = concat (postscanl (zipWith xor) turned columns)
  where
    columns = unconcat d4 roundKey
    substituted = map subByte (rotateLeftS (last columns) d1)
    turned = zipWith xor substituted (constant :> 0 :> 0 :> 0 :> Nil)

roundKeys :: ExpandedKey -> (Block, Vec 10 Block)
roundKeys key = (head keys, tail keys)
  where
    keys = unconcat d16 key

addRoundKey :: Block -> Block -> Block
addRoundKey = zipWith xor

-- | Row r turns left by r columns; byte r of every column is in row r.
shiftRows :: Block -> Block
shiftRows state = fromRows (a :> rotateLeftS b d1 :> rotateLeftS c d2 :> rotateLeftS d d3 :> Nil)
  where
    (a, b, c, d) = rows state

invShiftRows :: Block -> Block
invShiftRows state =
  fromRows (a :> rotateRightS b d1 :> rotateRightS c d2 :> rotateRightS d d3 :> Nil)
  where
    (a, b, c, d) = rows state

rows :: Block -> (Vec 4 Byte, Vec 4 Byte, Vec 4 Byte, Vec 4 Byte)
rows state = (at d0 turned, at d1 turned, at d2 turned, at d3 turned)
  where
    turned = transpose (unconcat d4 state)

fromRows :: Vec 4 (Vec 4 Byte) -> Block
fromRows = concat . transpose

mixColumns :: Block -> Block
mixColumns state = concatMap mixColumn (unconcat d4 state)

-- | Every byte doubled, its neighbour tripled, the other two once.
mixColumn :: Column -> Column
mixColumn column = zipWith mixed column (rotateLeftS column d1)
  where
    total = fold xor column
    mixed byte next = byte `xor` total `xor` double (byte `xor` next)
{-# NOINLINE mixColumn #-}

invMixColumns :: Block -> Block
invMixColumns state = concatMap (mixColumn . balanced) (unconcat d4 state)

-- | The inverse of mixColumn is mixColumn after this: its matrix is theirs multiplied.
balanced :: Column -> Column
balanced column = zipWith apart column (rotateLeftS column d2)
  where
    apart byte opposite = byte `xor` double (double (byte `xor` opposite))
{-# NOINLINE balanced #-}

-- | Times x, modulo x^8 + x^4 + x^3 + x + 1.
double :: Byte -> Byte
double byte = pack (b6, b5, b4, b3 `xor` b7, b2 `xor` b7, b1, b0 `xor` b7, b7)
  where
    (b7, b6, b5, b4, b3, b2, b1, b0) = bits byte

-- | From the most significant one.
bits :: Byte -> (Bit, Bit, Bit, Bit, Bit, Bit, Bit, Bit)
bits = unpack

-- | The S-box is an inversion and then an affine map M. So its inverse, M' and then the inversion,
-- is M', the S-box and M', where M' is the inverse of M.
invSubByte :: Byte -> Byte
invSubByte = invAffine . subByte . invAffine

invAffine :: Byte -> Byte
invAffine byte = rotateL byte 1 `xor` rotateL byte 3 `xor` rotateL byte 6 `xor` 0x05

subByte :: Byte -> Byte
subByte byte = pack (s0, s1, s2, s3, s4, s5, s6, s7)
  where
    (x0, x1, x2, x3, x4, x5, x6, x7) = bits byte

    -- Into the tower field.
    y14 = x3 `xor` x5
    y13 = x0 `xor` x6
    y9 = x0 `xor` x3
    y8 = x0 `xor` x5
    t0 = x1 `xor` x2
    y1 = t0 `xor` x7
    y4 = y1 `xor` x3
    y12 = y13 `xor` y14
    y2 = y1 `xor` x0
    y5 = y1 `xor` x6
    y3 = y5 `xor` y8
    t1 = x4 `xor` y12
    y15 = t1 `xor` x5
    y20 = t1 `xor` x1
    y6 = y15 `xor` x7
    y10 = y15 `xor` t0
    y11 = y20 `xor` y9
    y7 = x7 `xor` y11
    y17 = y10 `xor` y11
    y19 = y10 `xor` y8
    y16 = t0 `xor` y11
    y21 = y13 `xor` y16
    y18 = x0 `xor` y16

    -- Inversion there.
    t2 = y12 .&. y15
    t3 = y3 .&. y6
    t4 = t3 `xor` t2
    t5 = y4 .&. x7
    t6 = t5 `xor` t2
    t7 = y13 .&. y16
    t8 = y5 .&. y1
    t9 = t8 `xor` t7
    t10 = y2 .&. y7
    t11 = t10 `xor` t7
    t12 = y9 .&. y11
    t13 = y14 .&. y17
    t14 = t13 `xor` t12
    t15 = y8 .&. y10
    t16 = t15 `xor` t12
    t17 = t4 `xor` t14
    t18 = t6 `xor` t16
    t19 = t9 `xor` t14
    t20 = t11 `xor` t16
    t21 = t17 `xor` y20
    t22 = t18 `xor` y19
    t23 = t19 `xor` y21
    t24 = t20 `xor` y18
    t25 = t21 `xor` t22
    t26 = t21 .&. t23
    t27 = t24 `xor` t26
    t28 = t25 .&. t27
    t29 = t28 `xor` t22
    t30 = t23 `xor` t24
    t31 = t22 `xor` t26
    t32 = t31 .&. t30
    t33 = t32 `xor` t24
    t34 = t23 `xor` t33
    t35 = t27 `xor` t33
    t36 = t24 .&. t35
    t37 = t36 `xor` t34
    t38 = t27 `xor` t36
    t39 = t29 .&. t38
    t40 = t25 `xor` t39
    t41 = t40 `xor` t37
    t42 = t29 `xor` t33
    t43 = t29 `xor` t40
    t44 = t33 `xor` t37
    t45 = t42 `xor` t41
    z0 = t44 .&. y15
    z1 = t37 .&. y6
    z2 = t33 .&. x7
    z3 = t43 .&. y16
    z4 = t40 .&. y1
    z5 = t29 .&. y7
    z6 = t42 .&. y11
    z7 = t45 .&. y17
    z8 = t41 .&. y10
    z9 = t44 .&. y12
    z10 = t37 .&. y3
    z11 = t33 .&. y4
    z12 = t43 .&. y13
    z13 = t40 .&. y5
    z14 = t29 .&. y2
    z15 = t42 .&. y9
    z16 = t45 .&. y14
    z17 = t41 .&. y8

    -- Back, and the affine map.
    t46 = z15 `xor` z16
    t47 = z10 `xor` z11
    t48 = z5 `xor` z13
    t49 = z9 `xor` z10
    t50 = z2 `xor` z12
    t51 = z2 `xor` z5
    t52 = z7 `xor` z8
    t53 = z0 `xor` z3
    t54 = z6 `xor` z7
    t55 = z16 `xor` z17
    t56 = z12 `xor` t48
    t57 = t50 `xor` t53
    t58 = z4 `xor` t46
    t59 = z3 `xor` t54
    t60 = t46 `xor` t57
    t61 = z14 `xor` t57
    t62 = t52 `xor` t58
    t63 = t49 `xor` t58
    t64 = z4 `xor` t59
    t65 = t61 `xor` t62
    t66 = z1 `xor` t63
    t67 = t64 `xor` t65
    s0 = t59 `xor` t63
    s1 = complement (t64 `xor` s3)
    s2 = complement (t55 `xor` t67)
    s3 = t53 `xor` t66
    s4 = t51 `xor` t66
    s5 = t47 `xor` t65
    s6 = complement (t56 `xor` t62)
    s7 = complement (t48 `xor` t60)
{-# NOINLINE subByte #-}
