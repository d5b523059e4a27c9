-- | Eight numbers sorted by a network of comparators that does not depend on them.
--
-- Batcher's odd-even merge sort: K. E. Batcher, "Sorting networks and their applications", AFIPS
-- Spring Joint Computer Conference 1968. 19 comparators, six one after another.
module Sort (sorted) where

import Clash.Prelude

type Number = Unsigned 8

sorted :: Vec 8 Number -> Vec 8 Number
sorted numbers = merge8 (sorted4 left) (sorted4 right)
  where
    (left, right) = splitAt d4 numbers

sorted4 :: Vec 4 Number -> Vec 4 Number
sorted4 (a :> b :> c :> d :> Nil) = merge4 (ordered a b) (ordered c d)

-- | The merge of two sorted vectors of four.
merge8 :: Vec 4 Number -> Vec 4 Number -> Vec 8 Number
merge8 a b = interleaved (merge4 (evens a) (evens b)) (merge4 (odds a) (odds b))

-- | The merge of two sorted pairs.
merge4 :: Vec 2 Number -> Vec 2 Number -> Vec 4 Number
merge4 (a0 :> a1 :> Nil) (b0 :> b1 :> Nil) = interleaved (ordered a0 b0) (ordered a1 b1)

-- | The last step of a merge: the evens and the odds are sorted, and at most neighbours disagree.
interleaved :: KnownNat n => Vec (n + 1) Number -> Vec (n + 1) Number -> Vec (2 * n + 2) Number
interleaved even odd = head even :> (concat (zipWith ordered (init odd) (tail even)) :< last odd)

-- | The smaller one, the larger one: both change where they differ, or neither.
ordered :: Number -> Number -> Vec 2 Number
ordered a b = (a `xor` change) :> (b `xor` change) :> Nil
  where
    change = if b < a then a `xor` b else 0

evens :: Vec 4 Number -> Vec 2 Number
evens (a :> _ :> c :> _ :> Nil) = a :> c :> Nil

odds :: Vec 4 Number -> Vec 2 Number
odds (_ :> b :> _ :> d :> Nil) = b :> d :> Nil
