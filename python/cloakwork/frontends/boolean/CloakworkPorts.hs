{-# LANGUAGE AllowAmbiguousTypes #-}
{-# LANGUAGE DefaultSignatures #-}
{-# LANGUAGE UndecidableInstances #-}

-- | What a function becomes: the same function of bits, and what these bits mean, in JSON.
--
-- Types that are made of others get their instances of 'Port' from "CloakworkTypes".
module CloakworkPorts (Port (..), onBits, scalar, topOf, writeMeanings) where

import Clash.Prelude
import CloakworkJson (list, object, quoted)
import Data.Int (Int16, Int32, Int64, Int8)
import qualified Data.List as List
import Data.Proxy (Proxy (Proxy))
import Data.Word (Word16, Word32, Word64, Word8)
import System.IO (writeFile)

-- | Types that are bits. What comes first, such as element 0, has the most significant ones.
class KnownNat (Width a) => Port a where
  type Width a :: Nat
  type Width a = BitSize a

  toBits :: a -> BitVector (Width a)
  default toBits :: (BitPack a, Width a ~ BitSize a) => a -> BitVector (Width a)
  toBits = pack

  fromBits :: BitVector (Width a) -> a
  default fromBits :: (BitPack a, Width a ~ BitSize a) => BitVector (Width a) -> a
  fromBits = unpack

  -- | What the bits mean.
  meaning :: String

instance KnownNat n => Port (BitVector n) where meaning = scalar @(BitVector n) "bits"

instance KnownNat n => Port (Unsigned n) where meaning = scalar @(Unsigned n) "unsigned"

instance KnownNat n => Port (Signed n) where meaning = scalar @(Signed n) "signed"

instance (KnownNat n, 1 <= n) => Port (Index n) where meaning = scalar @(Index n) "unsigned"

instance (KnownNat n, KnownNat m) => Port (Fixed Unsigned n m) where
  meaning = fixed @(UFixed n m) "unsigned" (natural @m)

instance (KnownNat n, KnownNat m) => Port (Fixed Signed n m) where
  meaning = fixed @(SFixed n m) "signed" (natural @m)

instance Port Bit where meaning = scalar @Bit "unsigned"

instance Port Bool where meaning = scalar @Bool "unsigned"

instance Port Word where meaning = scalar @Word "unsigned"

instance Port Word8 where meaning = scalar @Word8 "unsigned"

instance Port Word16 where meaning = scalar @Word16 "unsigned"

instance Port Word32 where meaning = scalar @Word32 "unsigned"

instance Port Word64 where meaning = scalar @Word64 "unsigned"

instance Port Int where meaning = scalar @Int "signed"

instance Port Int8 where meaning = scalar @Int8 "signed"

instance Port Int16 where meaning = scalar @Int16 "signed"

instance Port Int32 where meaning = scalar @Int32 "signed"

instance Port Int64 where meaning = scalar @Int64 "signed"

instance (KnownNat n, Port a) => Port (Vec n a) where
  type Width (Vec n a) = n * Width a
  toBits = pack . map toBits
  fromBits = map fromBits . unpack
  meaning = object [("length", show (natural @n)), ("element", meaning @a)]

-- | What the bits of a type mean that is a number of this kind, or nothing but bits.
scalar :: forall a . BitPack a => String -> String
scalar kind = fixed @a kind 0

-- | The same of a number with so many bits after the point.
fixed :: forall a . BitPack a => String -> Integer -> String
fixed kind fraction = object
  [("kind", quoted kind), ("width", show (natural @(BitSize a))), ("fraction", show fraction)]

natural :: forall n . KnownNat n => Integer
natural = natVal (Proxy :: Proxy n)

-- | The type of a function when its arguments and its result are bits.
type family OnBits f where
  OnBits (a -> r) = BitVector (Width a) -> OnBits r
  OnBits r = BitVector (Width r)

class Design f where
  onBits :: f -> OnBits f

  -- | What the bits of the arguments and of the result mean.
  meanings :: [String]

instance (Port a, Design r) => Design (a -> r) where
  onBits f argument = onBits (f (fromBits argument))
  meanings = meaning @a : meanings @r

instance {-# OVERLAPPABLE #-} (Port r, OnBits r ~ BitVector (Width r)) => Design r where
  onBits = toBits
  meanings = [meaning @r]

-- | Write what the bits of a function's arguments and of its result mean to @meanings.json@.
writeMeanings :: forall f . Design f => f -> IO ()
writeMeanings _ = writeFile "meanings.json" (list (meanings @f))

-- | What tells Clash the names of the module and of its ports.
topOf :: forall f . Design f => String -> f -> TopEntity
topOf title _ = Synthesize title [PortName ('x' : show number) | number <- inputs] (PortName "out")
  where
    inputs = [0 .. List.length (meanings @f) - 2]
