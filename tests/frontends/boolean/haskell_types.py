"""Haskell whose ports are of types made of others, each function read once for all tests.

It lies as a project of Clash often does: hierarchical modules whose files stand side by side.
"""

PROJECT = """module Example.Project
  ( products, sums, fixed, machine, Key, Shape, Colour, listed
  ) where

import Clash.Prelude
import Data.Int (Int16)
import Data.Word (Word8)
import Numeric.Natural (Natural)
import Example.Geometry
import qualified Example.Geometry.Grids as Grids

newtype Key = Key (Vec 4 (BitVector 8)) deriving stock (Generic, Show)

data Pair = Pair (Unsigned 3) Bool

data a :*: b = a :*: b

-- | Everything comes back changed a little.
products ::
  Key -> Point -> Box -> Vec 3 Point -> Vec 2 (Unsigned 4, Pair) -> (Unsigned 3 :*: Bit) ->
  Grids.Grid (2 + 1) Unsigned -> Tagged (Unsigned 7) ->
  ( Key, Point, Box, Vec 3 Point, Vec 2 (Unsigned 4, Pair), (Bit :*: Unsigned 3)
  , Grids.Grid 3 Unsigned, Tagged (Unsigned 7) )
products (Key key) point (Box corner sizes) points pairs (a :*: b) grid (Tagged number ()) =
  ( Key (reverse key), moved point, Box (moved corner) (map (+ 1) sizes), map moved points
  , map swapped pairs, b :*: (a + 1), Grids.turned grid, Tagged (complement number) () )
  where
    swapped (n, Pair m flag) = (n + resize m, Pair (truncateB n) (not flag))

data Shape
  = Circle { radius :: Unsigned 6 }
  | Rectangle { wide :: Unsigned 4, high :: Unsigned 4 }
  | Dot

data Colour = Red | Green | Blue deriving (Eq, Enum, Bounded)

data Packed = Off | On (Unsigned 2) deriving (Generic, BitPack)

sums ::
  Shape -> Maybe (Signed 5) -> Either (Unsigned 3) Bool -> Colour -> Vec 2 (Maybe (Unsigned 2)) ->
  Packed -> Maybe (Maybe ()) ->
  ( Shape, Maybe (Signed 5), Either Bool (Unsigned 3), Colour, Vec 2 (Maybe (Unsigned 2)), Packed
  , Maybe (Maybe ()), Ordering )
sums shape number either' colour several packed nested =
  ( grown shape, fmap negate number, either Right Left either', next colour, map swap several
  , off packed, Just nested >>= id, compare (area shape) 20 )
  where
    grown (Circle r) = Rectangle (truncateB r) (resize (r `shiftR` 3))
    grown (Rectangle w h) = Circle (resize w + resize h)
    grown Dot = Dot
    area (Circle r) = resize r
    area (Rectangle w h) = resize w * resize h :: Unsigned 8
    area Dot = 0
    next Red = Green
    next Green = Blue
    next Blue = Red
    swap (Just 0) = Nothing
    swap (Just n) = Just (n - 1)
    swap Nothing = Just 3
    off (On n) | n > 1 = On (n - 1)
    off _ = Off

fixed ::
  SFixed 4 4 -> UFixed 3 5 -> Vec 3 (SFixed 2 6) -> (UFixed 0 8, SFixed 40 30) ->
  (SFixed 8 8, UFixed 4 5, Vec 3 (SFixed 3 6), SFixed 41 30, SFixed 4 4)
fixed x y several (small, large) =
  (mul x x, add y (resizeF small :: UFixed 3 5), map twice several, twice large, x + 1.5)
  where
    twice v = add v v

machine :: Word8 -> Int16 -> Vec 2 Word8 -> (Word8, Int16, Vec 2 Word8, Int, (Bool, Bool))
machine a b c = (a + 1, negate b, reverse c, fromIntegral a * fromIntegral b, above)
  where
    above = (toInteger b > 300, (fromIntegral a :: Natural) > 100)

listed :: Tree -> Bit
listed _ = 0

data Tree = Leaf | Node Tree Bit Tree
"""

GEOMETRY = """module Example.Geometry (Point (..), Box (..), Tagged (..), moved) where

import Clash.Prelude

data Point = Point { across :: Signed 6, up :: Unsigned 5 } deriving (Generic, BitPack)

data Box = Box { corner :: Point, sizes :: Vec 2 (Unsigned 4) }

data Tagged a = Tagged { number' :: a, tag :: () }

moved :: Point -> Point
moved (Point x y) = Point { across = x + 1, up = y + 2 }
"""

GRIDS = """{-# LANGUAGE TypeFamilies #-}
module Example.Geometry.Grids (Grid, turned) where

import Clash.Prelude

type Cells n f = Vec n (f 2)

data Grid n f = Grid { cells :: Cells n f, origin :: (f (n * 2), Vec (2 ^ n) Bit) }

turned :: Grid 3 Unsigned -> Grid 3 Unsigned
turned (Grid v (n, flags)) = Grid (rotateLeftS v d1) (n + 1, map complement flags)
"""
