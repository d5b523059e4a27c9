-- | Numbers out of a block that comes enciphered with a stream of bytes.
module Features (features) where

import Clash.Prelude

type Byte = BitVector 8

-- | Ten numbers of 12 bits, 8 of them after the point, one after another; a byte is left over.
features :: Vec 16 Byte -> Vec 16 Byte -> Vec 10 (SFixed 4 8)
features stream message = unpack (slice d127 d8 (pack (zipWith xor stream message)))
