-- | What is lent to somebody whose record comes enciphered with a stream of bytes.
module Loan (offer, unmasked) where

import Clash.Prelude

type Byte = BitVector 8

-- | Numbers of two bytes, the less significant one first.
type Record = Vec 8 (Unsigned 16)

-- | A block without the stream that it was enciphered with.
unmasked :: Vec 16 Byte -> Vec 16 Byte -> Vec 16 Byte
unmasked stream message = zipWith xor stream message

-- | Six months of what is left of the income, no more than what is asked for; nothing to minors,
-- to those who have missed more than two payments, and to those in debt for more than they saved.
offer :: Record -> Unsigned 16
offer record = if eligible then min asked (satMul SatBound left 6) else 0
  where
    (age :> income :> costs :> debts :> savings :> missed :> asked :> _ :> Nil) = record
    left = satSub SatBound income costs
    eligible = age >= 18 && missed <= 2 && debts <= savings
