{-# LANGUAGE AllowAmbiguousTypes #-}
{-# LANGUAGE TemplateHaskell #-}
{-# LANGUAGE UndecidableInstances #-}

-- | What a design is wrapped in: a function of the same arguments as bits, which Clash makes into a
-- module whose ports tell their types by their names.
--
-- A port is named @x3$v4_u8$text@: its number, its type and the name that the design's own
-- annotation gives it, if any. A type is b, u or s with its width for bits, unsigned and signed
-- numbers, o for others, v and a length before the type of a vector's elements, t and a count before those of a
-- tuple's components.
module CloakworkPorts (annotatedNames, onBits, topOf) where

import Clash.Prelude hiding (Exp, init, last, length, map, repeat, zipWith3, (++))
import Data.List (init, intercalate, last, length, map, repeat, zipWith3, (++))
import Data.Proxy (Proxy (Proxy))
import Language.Haskell.TH (AnnLookup (AnnLookupName), Exp, Name, Q, reifyAnnotations)
import Language.Haskell.TH.Syntax (lift)

-- | Types that are bits.
class BitPack a => Port a where
  typeCode :: String

instance KnownNat n => Port (BitVector n) where typeCode = 'b' : number @n

instance KnownNat n => Port (Unsigned n) where typeCode = 'u' : number @n

instance KnownNat n => Port (Signed n) where typeCode = 's' : number @n

instance (KnownNat n, 1 <= n) => Port (Index n) where typeCode = 'u' : number @(BitSize (Index n))

instance Port Bit where typeCode = "u1"

instance Port Bool where typeCode = "u1"

instance (KnownNat n, Port a) => Port (Vec n a) where
  typeCode = 'v' : number @n ++ "_" ++ typeCode @a

instance (Port a, Port b) => Port (a, b) where
  typeCode = tuple [typeCode @a, typeCode @b]

instance (Port a, Port b, Port c) => Port (a, b, c) where
  typeCode = tuple [typeCode @a, typeCode @b, typeCode @c]

instance (Port a, Port b, Port c, Port d) => Port (a, b, c, d) where
  typeCode = tuple [typeCode @a, typeCode @b, typeCode @c, typeCode @d]

instance (Port a, Port b, Port c, Port d, Port e) => Port (a, b, c, d, e) where
  typeCode = tuple [typeCode @a, typeCode @b, typeCode @c, typeCode @d, typeCode @e]

instance (Port a, Port b, Port c, Port d, Port e, Port f) => Port (a, b, c, d, e, f) where
  typeCode = tuple [typeCode @a, typeCode @b, typeCode @c, typeCode @d, typeCode @e, typeCode @f]

-- | Whatever else packs into bits, types of the user's among it.
instance {-# OVERLAPPABLE #-} BitPack a => Port a where
  typeCode = 'o' : number @(BitSize a)

number :: forall n . KnownNat n => String
number = show (natVal (Proxy :: Proxy n))

tuple :: [String] -> String
tuple components = intercalate "_" (('t' : show (length components)) : components)

-- | The type of a function when its arguments and its result are bits.
type family OnBits f where
  OnBits (a -> r) = BitVector (BitSize a) -> OnBits r
  OnBits r = BitVector (BitSize r)

class Design f where
  onBits :: f -> OnBits f

  -- | Of the arguments and the result.
  typeCodes :: [String]

instance (Port a, Design r) => Design (a -> r) where
  onBits f argument = onBits (f (unpack argument))
  typeCodes = typeCode @a : typeCodes @r

instance {-# OVERLAPPABLE #-} (Port r, OnBits r ~ BitVector (BitSize r)) => Design r where
  onBits = pack
  typeCodes = [typeCode @r]

-- | What tells Clash the names of the ports.
topOf :: forall f . Design f => String -> [String] -> f -> TopEntity
topOf title names _ = Synthesize title (init ports) (last ports)
  where
    ports = zipWith3 port [0 :: Int ..] (typeCodes @f) (names ++ repeat "")
    port place typed name = PortName ('x' : show place ++ "$" ++ typed ++ "$" ++ name)

-- | The names that an annotation of the design's gives arguments and result; none without one.
annotatedNames :: Name -> Q Exp
annotatedNames design = do
  annotations <- reifyAnnotations (AnnLookupName design)
  lift (case annotations of
    [Synthesize _ arguments result] -> map portName (arguments ++ [result])
    _ -> [])
  where
    portName (PortName name) = name
    portName (PortProduct name parts) = intercalate "$" (name : map portName parts)
