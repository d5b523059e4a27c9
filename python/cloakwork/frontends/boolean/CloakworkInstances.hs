{-# OPTIONS_GHC -fconstraint-solver-iterations=0 #-}
{-# LANGUAGE PolyKinds #-}
{-# LANGUAGE TemplateHaskell #-}
{-# LANGUAGE UndecidableInstances #-}

-- | The instances of 'Port' for those types of a function's arguments and result that are made of
-- others. What else is to be known of the types is written to files: @types.json@, or where one
-- cannot be bits @refused.json@.
--
-- Template Haskell reaches constructors that a module does not export, and types without
-- 'BitPack' or 'Generic'. All of it is in the splice, which leaves nothing but the instances: Clash
-- reads what modules define, and all that they refer to, which would take it longer than the
-- function itself.
module CloakworkInstances () where

import Clash.Prelude
  (BitPack (pack, unpack), BitVector, PortName (PortName, PortProduct), TopEntity (Synthesize), Vec)
import CloakworkDesign (designName)
import CloakworkJson (list, object, quoted)
import CloakworkPorts (Port (..), scalar)
import Control.Monad (when, zipWithM)
import Data.Bifunctor (first, second)
import Data.Data (Data, cast, gmapQ)
import Data.List (genericLength, isPrefixOf, nub)
import Data.Maybe (catMaybes, fromMaybe)
import Data.Ratio (Ratio)
import GHC.TypeLits (type (+))
import Language.Haskell.TH
import Language.Haskell.TH.Syntax (reifyType)
import Numeric.Natural (Natural)
import Prelude

-- | Why a type cannot be bits, the type, and those that it is a component of.
type Refusal = (String, Type, [Type])

-- | A type with constructors, and whether its bits are those of what these hold: otherwise they are
-- as the type packs itself.
type Made = (Name, Bool)

-- | A constructor, and what it holds: its components' names, where they have any, and their types.
type Parts = (Name, [(Maybe String, Type)])

$(let
    instances :: Q [Dec]
    instances = do
      typed <- reifyType designName
      when (any isClock (everything typed)) (refuse "function" ("clocked", typed, []))
      (arguments, result) <- signature typed
      describe (arguments ++ [result])
      let places = ["argument " ++ show number | number <- [0 .. length arguments - 1]]
          require place = (>>= either (refuse place) pure) . takenApart []
      made <- zipWithM require (places ++ ["result"]) (arguments ++ [result])
      mapM instanceOf (nub (concat made))

    describe :: [Type] -> Q ()
    describe types = do
      annotations <- reifyAnnotations (AnnLookupName designName)
      let names = [map named (inputs ++ [output]) | Synthesize _ inputs output <- annotations]
      runIO (writeFile "types.json" (object
        [ ("types", list (map (quoted . pprint) types))
        , ("names", list (concat (take 1 names)))
        ]))

    named :: PortName -> String
    named (PortName name) = quoted name
    named (PortProduct name parts) = list (quoted name : map named parts)

    refuse :: String -> Refusal -> Q a
    refuse place (reason, typed, within) = do
      runIO (writeFile "refused.json" (object
        [ ("place", quoted place)
        , ("reason", quoted reason)
        , ("type", quoted (pprint typed))
        , ("within", list (map (quoted . pprint) within))
        ]))
      fail ("refused: " ++ reason)

    -- The arguments and the result of a function.
    signature :: Type -> Q ([Type], Type)
    signature typed = do
      whole <- expanded typed
      case whole of
        ForallT _ [] _ -> refuse "function" ("variables", whole, [])
        ForallT _ _ _ -> refuse "function" ("constrained", whole, [])
        AppT (AppT ArrowT argument) rest -> first (argument :) <$> signature rest
        _ -> pure ([], whole)

    -- The types with constructors that a type is made of.
    takenApart :: [Type] -> Type -> Q (Either Refusal [Made])
    takenApart within typed = do
      whole <- expanded typed
      let refused reason = pure (Left (reason, whole, within))
      case unfolded whole of
        _ | any (isNoSmallerThan whole) within ->
          pure (Left ("endless", whole, filter (/= whole) within))
        (ArrowT, _) -> refused "function"
        (ForallT {}, _) -> refused "variables"
        (VarT _, _) -> refused "variables"
        (ListT, _) -> refused "list"
        (TupleT size, _) -> heldBy (tupleTypeName size) whole within
        (ConT name, arguments)
          | isClock name -> refused "clocked"
          | name `elem` [''Double, ''Float, ''Ratio] -> refused "real"
          | name `elem` [''Integer, ''Natural] -> refused "unbounded"
          | name == ''Vec -> takenApart within (last arguments)
          | otherwise -> heldBy name whole within
        _ -> refused "other"

    heldBy :: Name -> Type -> [Type] -> Q (Either Refusal [Made])
    heldBy name whole within = do
      declared <- reify name
      case declared of
        -- A family of types stands for another type, of which the compiler finds the instance.
        FamilyI (ClosedTypeFamilyD {}) _ -> pure (Right [])
        FamilyI (OpenTypeFamilyD {}) _ -> pure (Right [])
        TyConI declaration | name /= ''IO -> do
          isPort <- isInstance ''Port [whole]
          isPacked <- isInstance ''BitPack [whole]
          if isPort then pure (Right []) else declaredBy declaration isPacked name whole within
        -- What holds something of the machine, such as Char, is told of, not what it holds.
        _ -> pure (Left (case within of
          holder : rest -> ("other", holder, rest)
          [] -> ("other", whole, [])))

    -- Types of one constructor become bits by what it holds, whether they have an instance of
    -- BitPack or not; of several those that have none, for theirs may number them in its own way.
    declaredBy :: Dec -> Bool -> Name -> Type -> [Type] -> Q (Either Refusal [Made])
    declaredBy declaration isPacked name whole within
      | Just (_, variables, parts) <- constructorsOf declaration
      , not isPacked || length parts == 1 || name `elem` [''Maybe, ''Either, ''Ordering] = do
          let given = zip variables (snd (unfolded whole))
              held = [substituted given each | (_, fields) <- parts, (_, each) <- fields]
          made <- mapM (takenApart (whole : within)) held
          pure (case concat <$> sequence made of
            -- An instance packs what has no bits where this is no argument of the type, nor in one.
            Left (reason, inner, holders)
              | isPacked && reason `elem` ["unbounded", "other"]
              , not (any (`elem` everything whole) (inner : takeWhile (/= whole) holders)) -> packed
            each -> ((name, True) :) <$> each)
      | isPacked = pure packed
      | otherwise = pure (Left ("other", whole, within))
      where
        packed = Right [(name, False)]

    -- Whether a type is a newtype, its variables, and its constructors, of which there is one.
    constructorsOf :: Dec -> Maybe (Bool, [Name], [Parts])
    constructorsOf declaration = case declaration of
      NewtypeD _ _ variables _ constructor _ -> made True variables [constructor]
      DataD _ _ variables _ constructors@(_ : _) _ -> made False variables constructors
      _ -> Nothing
      where
        made isNewtype variables = fmap ((,,) isNewtype (map boundName variables)) . mapM partsOf

    -- Nothing for constructors whose result tells more of the type's arguments.
    partsOf :: Con -> Maybe Parts
    partsOf constructor = case constructor of
      NormalC name held -> Just (name, [(Nothing, typed) | (_, typed) <- held])
      RecC name held -> Just (name, [(Just (fieldName field), typed) | (field, _, typed) <- held])
      InfixC (_, left) name (_, right) -> Just (name, [(Nothing, left), (Nothing, right)])
      _ -> Nothing

    -- Fields of one name in several types are called such as $sel:size:Circle.
    fieldName :: Name -> String
    fieldName field = case break (== ':') (nameBase field) of
      ("$sel", _ : rest) -> takeWhile (/= ':') rest
      _ -> nameBase field

    instanceOf :: Made -> Q Dec
    instanceOf (name, isTakenApart) = do
      declared <- reify name
      let whole arguments = foldl appT (conT name) (map varT arguments)
      case declared of
        TyConI declaration
          | isTakenApart, Just (isNewtype, variables, parts) <- constructorsOf declaration ->
              takenApartInstance (whole variables) isNewtype parts
        TyConI (DataD _ _ variables _ _ _) -> packedInstance (whole (map boundName variables))
        TyConI (NewtypeD _ _ variables _ _ _) -> packedInstance (whole (map boundName variables))
        _ -> fail ("cannot make an instance of " ++ pprint name)

    packedInstance :: Q Type -> Q Dec
    packedInstance whole =
      instanceD (sequence [[t| BitPack $whole |]]) [t| Port $whole |]
        [valD (varP 'meaning) (normalB [| scalar @($whole) "bits" |]) []]

    -- The bits are the number of the constructor, unless it is the only one, then those of what
    -- all constructors hold, where those of others than the value's are zeros.
    takenApartInstance :: Q Type -> Bool -> [Parts] -> Q Dec
    takenApartInstance whole isNewtype parts =
      instanceD (mapM (port . pure) (nub (filter isOpen held))) (port whole)
        [ tySynInstD (tySynEqn Nothing [t| Width $whole |] (foldr plus [t| 0 |] widths))
        , funD 'toBits (zipWith (clauseTo widths parts) [0 ..] parts)
        , funD 'fromBits [clauseFrom widths parts]
        , valD (varP 'meaning) (normalB (meaningOf isNewtype parts)) []
        ]
      where
        held = concatMap (map snd . snd) parts
        port typed = [t| Port $typed |]
        widths = litT (numTyLit (bitsFor (length parts))) : map widthOf held
        plus width rest = [t| $width + $rest |]

    clauseTo :: [Q Type] -> [Parts] -> Integer -> Parts -> Q Clause
    clauseTo widths parts number (name, fields) = do
      values <- mapM (const (newName "value")) fields
      let own = [[| toBits $(varE value) |] | value <- values]
          zeros others = [[| 0 :: BitVector $(widthOf typed) |] | (_, typed) <- others]
          held place others = if place == number then own else zeros others
          numbered = [| $(litE (integerL number)) :: BitVector $(head widths) |]
          bits = numbered : concat (zipWith held [0 ..] (map snd parts))
          packed = [| pack $(foldr (\one rest -> [| ($one, $rest) |]) [| () |] bits) |]
      clause [conP name (map varP values)] (normalB packed) []

    clauseFrom :: [Q Type] -> [Parts] -> Q Clause
    clauseFrom widths parts = do
      bits <- newName "bits"
      number <- newName "number"
      values <- mapM (mapM (const (newName "value")) . snd) parts
      let made name = foldl appE (conE name) . map (\value -> [| fromBits $(varE value) |])
          -- Numbers of no constructor are taken for the last one's.
          numbers = map (litP . integerL) [0 .. genericLength parts - 2] ++ [wildP]
          choice numbered name own = match numbered (normalB (made name own)) []
          chosen = caseE (varE number) (zipWith3 choice numbers (map fst parts) values)
          pattern' = foldr (\one rest -> [p| ($one, $rest) |]) [p| () |] (varP number : held)
          held = map varP (concat values)
          typed = foldr (\one rest -> [t| (BitVector $one, $rest) |]) [t| () |] widths
          unpacked = [| unpack $(varE bits) :: $typed |]
      clause [varP bits] (normalB (caseE unpacked [match pattern' (normalB chosen) []])) []

    meaningOf :: Bool -> [Parts] -> Q Exp
    meaningOf isNewtype parts = [| object
      [ ("newtype", $(text (if isNewtype then "true" else "false")))
      , ("constructors", list $(listE [constructor name fields | (name, fields) <- parts]))
      ] |]
      where
        constructor name fields = [| object
          [ ("name", $(text (quoted (nameBase name))))
          , ("fields", list $(listE [field name' typed | (name', typed) <- fields]))
          ] |]
        field name typed = [| object
          [("name", $(text (maybe "null" quoted name))), ("meaning", meaning @($(pure typed)))] |]
        text = litE . stringL

    widthOf :: Type -> Q Type
    widthOf typed = [t| Width $(pure typed) |]

    -- Bits that tell so many things apart.
    bitsFor :: Int -> Integer
    bitsFor count = genericLength (takeWhile (< count) (iterate (2 *) 1))

    -- A type without the synonym that it begins with.
    expanded :: Type -> Q Type
    expanded typed = case unfolded typed of
      (ConT name, arguments) -> do
        declared <- reify name
        case declared of
          TyConI (TySynD _ variables right) | length variables <= length arguments ->
            let (given, rest) = splitAt (length variables) arguments
                meant = substituted (zip (map boundName variables) given) right
            in expanded (foldl AppT meant rest)
          _ -> pure (foldl AppT (ConT name) arguments)
      (function, arguments) -> pure (foldl AppT function arguments)

    -- A component of a constructor of the same type, which only gets larger, has others without
    -- end.
    isNoSmallerThan :: Type -> Type -> Bool
    isNoSmallerThan inner holder =
      fst (unfolded inner) == fst (unfolded holder) && size inner >= size holder
      where
        size typed = length (everything typed :: [Type])

    -- What a type applies to its arguments, and these.
    unfolded :: Type -> (Type, [Type])
    unfolded typed = case typed of
      AppT function argument -> second (++ [argument]) (unfolded function)
      AppKindT function _ -> unfolded function
      SigT inner _ -> unfolded inner
      ParensT inner -> unfolded inner
      _ -> (typed, [])

    substituted :: [(Name, Type)] -> Type -> Type
    substituted given typed = case typed of
      VarT name -> fromMaybe typed (lookup name given)
      AppT function argument -> AppT (substituted given function) (substituted given argument)
      AppKindT function _ -> substituted given function
      SigT inner _ -> substituted given inner
      ParensT inner -> substituted given inner
      _ -> typed

    -- The versions of Template Haskell have binders of several forms; all begin with the name.
    boundName :: Data binder => binder -> Name
    boundName = head . catMaybes . gmapQ cast

    isOpen :: Type -> Bool
    isOpen typed = not (null [name | VarT name <- everything typed])

    -- All parts of one type.
    everything :: (Data whole, Data part) => whole -> [part]
    everything whole = maybe id (:) (cast whole) (concat (gmapQ everything whole))

    isClock :: Name -> Bool
    isClock name =
      nameBase name `elem` clocked && maybe False ("Clash." `isPrefixOf`) (nameModule name)
      where
        clocked = ["Signal", "DSignal", "BiSignalIn", "BiSignalOut", "Clock", "Reset", "Enable"]
  in instances)
