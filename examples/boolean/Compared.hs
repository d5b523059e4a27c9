-- | The four programs by which compilers for encrypted data are compared.
--
-- Python has the same in examples/circuit/compared.py.
module Compared (chiSquared, cardio, auction, hamming) where

import Clash.Prelude

type Word16 = Unsigned 16

type Byte = Unsigned 8

-- | The four terms of the statistic of how often three genotypes come, as words of 16 bits.
chiSquared :: Vec 3 Word16 -> Vec 4 Word16
chiSquared (n0 :> n1 :> n2 :> Nil) =
  squared (4 * n0 * n2 - squared n1) :> 2 * squared first :> first * second :> 2 * squared second :> Nil
  where
    first = 2 * n0 + n1
    second = 2 * n2 + n1

squared :: Word16 -> Word16
squared x = x * x

-- | How many of ten signs of a risk of heart disease someone shows. Flags are: a man, smokes, is
-- diabetic, has a high blood pressure.
cardio :: Vec 4 Bool -> Byte -> Byte -> Byte -> Byte -> Byte -> Byte -> Unsigned 4
cardio (isMan :> smokes :> isDiabetic :> hasHighPressure :> Nil) age hdl weight height activity glasses =
  fold (+) (map counted signs)
  where
    signs =
      (age > (if isMan then 50 else 60))
        :> smokes
        :> isDiabetic
        :> hasHighPressure
        :> (hdl < 40)
        :> ((extend weight + 90 :: Unsigned 9) > extend height)
        :> (activity < 30)
        :> (glasses > (if isMan then 3 else 2))
        :> Nil

counted :: Bool -> Unsigned 4
counted sign = if sign then 1 else 0

-- | The highest bid, and the first bidder who made it.
auction :: Vec 32 Word16 -> (Word16, Unsigned 5)
auction bids = fold higher (zip bids (map fromIntegral indicesI))

higher :: (Word16, Unsigned 5) -> (Word16, Unsigned 5) -> (Word16, Unsigned 5)
higher one other = if fst other > fst one then other else one

-- | The number of bits in which two texts of 8 bytes differ.
hamming :: BitVector 64 -> BitVector 64 -> Unsigned 7
hamming a b = fromIntegral (popCount (a `xor` b))
