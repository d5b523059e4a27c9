-- | Private information retrieval: an entry of a table by a number that nobody sees, or whether a
-- word is in the table.
--
-- Every entry is touched, whatever the number or the word. In @table100@ and @table500@ the table
-- is part of the program; in the others it is an input.
module Pir (lookup100, lookup500, table100, table500, member100) where

import Clash.Prelude

type Entry = Unsigned 32

lookup100 :: Vec 100 Entry -> Unsigned 7 -> Entry
lookup100 entries index = entry entries index

lookup500 :: Vec 500 Entry -> Unsigned 9 -> Entry
lookup500 entries index = entry entries index

table100 :: Unsigned 7 -> Entry
table100 index = entry (multiples d100) index

table500 :: Unsigned 9 -> Entry
table500 index = entry (multiples d500) index

member100 :: Vec 100 Entry -> Entry -> Bool
member100 entries word = elem word entries

-- | The entry of a number; 0 past the last one.
entry :: (KnownNat n, KnownNat w) => Vec (n + 1) Entry -> Unsigned w -> Entry
entry entries index = unpack (fold (.|.) (imap masked entries))
  where
    masked place each = if index == fromIntegral place then pack each else 0

-- | Entry i is (i + 1) * 2654435761 modulo 2^32.
multiples :: SNat n -> Vec n Entry
multiples size = iterate size (+ 2654435761) 2654435761
