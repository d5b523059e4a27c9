-- | A calculator that does not know what it is asked.
module Calculator (calculate) where

import Clash.Prelude

-- | Code 0 adds, 1 subtracts, 2 multiplies, 3 takes the larger one.
calculate :: Unsigned 2 -> Signed 8 -> Signed 8 -> Signed 16
calculate code a b = case code of
  0 -> extend a + extend b
  1 -> extend a - extend b
  2 -> mul a b
  _ -> extend (max a b)
