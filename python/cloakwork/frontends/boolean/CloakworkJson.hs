-- | Values as JSON, from which what is not Haskell reads them.
module CloakworkJson (list, object, quoted) where

import Data.Char (ord)
import Data.List (intercalate)
import Numeric (showHex)
import Prelude

object :: [(String, String)] -> String
object members = "{" ++ intercalate "," (map member members) ++ "}"
  where
    member (key, value) = quoted key ++ ":" ++ value

list :: [String] -> String
list values = "[" ++ intercalate "," values ++ "]"

quoted :: String -> String
quoted text = "\"" ++ concatMap escaped text ++ "\""
  where
    escaped character
      | character `elem` "\"\\" = ['\\', character]
      | character < ' ' = "\\u" ++ drop (length (code character)) "0000" ++ code character
      | otherwise = [character]
    code character = showHex (ord character) ""
