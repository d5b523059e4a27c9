"""Statements that decide, written so that both sides of what is encrypted are computed.

An `if` becomes: remember what variables hold; run the body; put them back; run the `else`; let each
variable be one of its two values. What leaves a function or a loop becomes a flag, and what follows
is run under the condition that no flag is set. `branches` does this where a condition is encrypted;
where it is not, one side alone runs, as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import count

# What the calls are of; whoever runs the code defines them.
BRANCH, GUARD, LEFT, STUCK, RESULT, ABSENT, LOCALS = (
    f"_cloakwork_{name}"
    for name in ("branch", "guard", "left", "stuck", "result", "absent", "locals")
)
RETURNED, VALUE = "_cloakwork_returned", "_cloakwork_value"
BROKEN, CONTINUED = "_cloakwork_broken", "_cloakwork_continued"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)
_EXITS = (ast.Return, ast.Break, ast.Continue)
# What does more than to give names to values.
_EFFECTS: dict[type[ast.AST], str] = {
    ast.Raise: "raise",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Try: "try",
    ast.With: "with",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Match: "match",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
}


def with_branches(function: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose `if` statements, and what leaves it within them, may be encrypted.

    Example:
        >>> tree = ast.parse("def f(x): return x").body[0]
        >>> with_branches(tree) is tree
        True
    """
    within = [*_statements(function.body)]
    if not any(isinstance(each, ast.If) for each in within) or _is_left_alone(within):
        return function
    return _Branching(function).function()


def _is_left_alone(statements: Sequence[ast.AST]) -> bool:
    """Whether what leaves a function or a loop is within what Python itself has to end."""
    return any(
        isinstance(each, ast.Yield | ast.YieldFrom | ast.Await | ast.TryStar)
        or (
            isinstance(each, ast.Try | ast.Match)
            and any(isinstance(one, _EXITS) for one in _within(each))
        )
        for each in statements
    )


class _Branching:
    def __init__(self, function: ast.FunctionDef) -> None:
        self._function = function
        self._numbers = count()
        self._returns_early = any(
            isinstance(one, ast.Return)
            for each in function.body
            if not isinstance(each, ast.Return)
            for one in _within(each)
        )
        arguments = function.args
        self._locals = {
            *(each.arg for each in (*arguments.posonlyargs, *arguments.args)),
            *(each.arg for each in arguments.kwonlyargs),
            *(each.arg for each in (arguments.vararg, arguments.kwarg) if each),
            *_assigned(function.body),
        }

    def function(self) -> ast.FunctionDef:
        """The function, rewritten."""
        made = copy(self._function)
        made.body = self._block(self._function.body, None)
        if self._returns_early:
            last = self._function.body[-1]
            made.body = [
                *_at(last, f"{RETURNED} = False\n{VALUE} = None"),
                *made.body,
                *_at(last, f"return {RESULT}({RETURNED}, {VALUE})"),
            ]
        return made

    def _block(self, statements: Sequence[ast.stmt], loop: int | None) -> list[ast.stmt]:
        """Statements one after another, those after one that may leave under the condition."""
        made: list[ast.stmt] = []
        for place, each in enumerate(statements):
            made += self._statement(each, loop)
            if isinstance(each, _EXITS):
                break
            flags = self._flags(each, loop)
            if flags:
                made += self._guarded(statements[place + 1 :], loop, flags)
                break
        return made

    def _flags(self, statement: ast.stmt, loop: int | None) -> list[str]:
        """The flags that a statement may set."""
        if isinstance(statement, _FUNCTIONS):
            return []
        found = []
        if self._returns_early and any(isinstance(one, ast.Return) for one in _within(statement)):
            found.append(RETURNED)
        if loop is not None and not isinstance(statement, _LOOPS):
            own = [*_of_loop(statement)]
            if any(isinstance(one, ast.Break) for one in own):
                found.append(f"{BROKEN}{loop}")
            if any(isinstance(one, ast.Continue) for one in own):
                found.append(f"{CONTINUED}{loop}")
        return found

    def _statement(self, statement: ast.stmt, loop: int | None) -> list[ast.stmt]:
        match statement:
            case ast.Return(value=value) if self._returns_early:
                made = _at(statement, f"{RETURNED} = True\n{VALUE} = None")
                if value is not None and isinstance(made[1], ast.Assign):
                    made[1].value = value
                # A value that cannot be computed leaves nothing returned.
                return made[::-1]
            case ast.Break():
                return _at(statement, f"{BROKEN}{loop} = True")
            case ast.Continue():
                return _at(statement, f"{CONTINUED}{loop} = True")
            case ast.If():
                return self._if(statement, loop)
            case ast.For() | ast.While():
                return self._loop(statement)
            case ast.With():
                made_with = copy(statement)
                made_with.body = self._block(statement.body, loop)
                return [made_with]
            case ast.Try():
                made_try = copy(statement)
                made_try.body = self._block(statement.body, loop)
                return [made_try]
        return [statement]

    def _if(self, statement: ast.If, loop: int | None) -> list[ast.stmt]:
        number = next(self._numbers)
        branch = f"_cloakwork_branch{number}"
        body, orelse = self._block(statement.body, loop), self._block(statement.orelse, loop)
        names = self._names(body + orelse)
        effect, changed = self._effect([*statement.body, *statement.orelse])
        made = _at(
            statement,
            f"{branch} = {BRANCH}(0, {LOCALS}(), {names!r}, {effect!r}, {changed!r})\n"
            f"if {branch}.is_first():\n    pass\n"
            f"if {branch}.is_second({LOCALS}()):\n    pass\n" + self._set(names, branch, "joined"),
        )
        start, first, second = made[:3]
        assert isinstance(start, ast.Assign)
        assert isinstance(start.value, ast.Call)
        assert isinstance(first, ast.If)
        assert isinstance(second, ast.If)
        start.value.args[0] = statement.test
        first.body = body
        second.body = [*_at(statement, self._set(names, branch, "restored")), *orelse]
        return made

    def _guarded(
        self, statements: Sequence[ast.stmt], loop: int | None, flags: Sequence[str]
    ) -> list[ast.stmt]:
        """Statements under the condition that no flag is set."""
        if not statements:
            return []
        return self._under(statements[0], self._block(statements, loop), statements, flags)

    def _under(
        self,
        at: ast.stmt,
        body: list[ast.stmt],
        written: Sequence[ast.stmt],
        flags: Sequence[str],
    ) -> list[ast.stmt]:
        guard = f"_cloakwork_branch{next(self._numbers)}"
        own = self._names(body)
        names = (*own, *(each for each in flags if each not in own))
        effect, changed = self._effect(written)
        made = _at(
            at,
            f"{guard} = {GUARD}({LOCALS}(), {names!r}, {tuple(flags)!r}, {effect!r}, {changed!r})\n"
            f"if {guard}.is_first():\n    pass\n" + self._set(names, guard, "joined"),
        )
        first = made[1]
        assert isinstance(first, ast.If)
        first.body = [*_at(at, "".join(f"{each} = False\n" for each in flags)), *body]
        return made

    def _loop(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        loop = next(self._numbers)
        broken, continued = f"{BROKEN}{loop}", f"{CONTINUED}{loop}"
        made = copy(statement)
        inner = [one for each in statement.body for one in _within(each)]
        own = [one for each in statement.body for one in _of_loop(each)]
        returns = any(isinstance(one, ast.Return) for one in inner)
        if not returns and not any(isinstance(one, ast.Break | ast.Continue) for one in own):
            made.body = self._block(statement.body, loop)
            made.orelse = self._block(statement.orelse, loop)
            return [made]
        flags = [*([RETURNED] if returns else []), broken]
        body = self._block(statement.body, loop)
        if isinstance(made, ast.For):
            item = f"_cloakwork_item{loop}"
            taken = _at(statement, f"_ = {item}")[0]
            assert isinstance(taken, ast.Assign)
            assert isinstance(statement, ast.For)
            taken.targets = [statement.target]
            body = [taken, *body]
            made.target = ast.copy_location(ast.Name(item, ast.Store()), statement.target)
        left = f"{LEFT if isinstance(made, ast.For) else STUCK}({', '.join(flags)})"
        made.body = [
            *_at(statement, f"{continued} = False"),
            *self._under(statement, body, [*statement.body], flags),
            *_at(statement, f"if {left}: break"),
        ]
        made.orelse = []
        after: list[ast.stmt] = []
        if statement.orelse:
            after = self._guarded(statement.orelse, None, flags)
        return [*_at(statement, f"{broken} = False\n{continued} = False"), made, *after]

    def _names(self, statements: Sequence[ast.stmt]) -> tuple[str, ...]:
        """The names that statements assign, but for those of what runs them."""
        own = ("_cloakwork_branch", "_cloakwork_item")
        return tuple(
            dict.fromkeys(name for name in _assigned(statements) if not name.startswith(own))
        )

    def _set(self, names: Sequence[str], branch: str, method: str) -> str:
        """The text that gives names what a branch says, or takes them away."""
        if not names:
            return f"{branch}.{method}({LOCALS}())"
        text = f"({', '.join(names)},) = {branch}.{method}({LOCALS}())\n"
        return text + "".join(
            f"if {name} is {ABSENT}:\n    del {name}\n" for name in names if name in self._locals
        )

    def _effect(self, statements: Sequence[ast.stmt]) -> tuple[str, tuple[str, ...]]:
        """What of statements does more than to assign, with its line; and names of what changes."""
        changed: dict[str, None] = {}
        for each in statements:
            for one in _within(each):
                what = _EFFECTS.get(type(one)) or self._of_others(one)
                if what:
                    return f"{what} in line {getattr(one, 'lineno', 0)}", ()
                changed.update(dict.fromkeys(self._changed(one)))
        return "", tuple(changed)

    def _changed(self, node: ast.AST) -> Iterator[str]:
        """The names of what has methods called, or items set."""
        match node:
            case ast.Call(func=ast.Attribute(value=value)) if self._is_local(value):
                yield _root(value)
            case ast.Subscript(value=value, ctx=ast.Store()) if self._is_local(value):
                yield _root(value)

    def _of_others(self, node: ast.AST) -> str:
        """What a statement does to what is not of the function itself."""
        match node:
            case ast.Expr(value=ast.Constant()):
                return ""
            case ast.Call(func=ast.Name(id="next")):
                return "next"
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=value))):
                return "" if self._is_local(value) else "a call whose result is not used"
            case ast.Expr():
                return "an expression whose result is not used"
            case ast.Assign(targets=targets):
                others = [one for each in targets for one in ast.walk(each)]
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                others = [*ast.walk(target)]
            case _:
                return ""
        for each in others:
            stored = isinstance(getattr(each, "ctx", None), ast.Store)
            if stored and isinstance(each, ast.Attribute):
                return "an assignment to an attribute"
            if stored and isinstance(each, ast.Subscript) and not self._is_local(each.value):
                return "an assignment to an item of what is not of the function"
        return ""

    def _is_local(self, value: ast.expr) -> bool:
        return _root(value) in self._locals


def _root(value: ast.expr) -> str:
    """The name of what is indexed; empty where it has none."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _at(place: ast.stmt, text: str) -> list[ast.stmt]:
    """Statements of text, at the place of one that is there."""
    made = ast.parse(text).body
    for each in made:
        for one in ast.walk(each):
            if isinstance(one, ast.stmt | ast.expr):
                ast.copy_location(one, place)
    return made


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, but for functions of its own."""
    if isinstance(node, _FUNCTIONS):
        return
    yield node
    for each in ast.iter_child_nodes(node):
        yield from _within(each)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    for each in body:
        yield from _within(each)


def _of_loop(node: ast.AST) -> Iterator[ast.AST]:
    """What of a loop's statement leaves or goes on with that loop, and not with one within."""
    if isinstance(node, _FUNCTIONS):
        return
    yield node
    inner = node.orelse if isinstance(node, _LOOPS) else ast.iter_child_nodes(node)
    for each in inner:
        yield from _of_loop(each)


def _assigned(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements give something to."""
    for statement in statements:
        yield from _assigned_in(statement)


def _assigned_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for each in ast.iter_child_nodes(node):
        yield from _assigned_in(each)
