-- | The sum of two numbers of 64 bits, with its carry.
module Adder (sumOf) where

import Clash.Prelude

sumOf :: Unsigned 64 -> Unsigned 64 -> Unsigned 65
sumOf a b = add a b
