-- | The rectifier of neural networks on a vector.
module Relu (relu) where

import Clash.Prelude

relu :: Vec 16 (Signed 8) -> Vec 16 (Signed 8)
relu x = map (max 0) x
