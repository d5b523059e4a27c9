"""The source of a function, with what asks for the truth of a value written as calls.

`a if c else b`, `and`, `or`, `not`, `in` and comparisons in a row ask Python whether a value is
true. An encrypted one cannot say. As calls of functions that are given the parts, they need not.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from copy import deepcopy
from types import CodeType, FunctionType

from cloakwork.frontends.circuit.statements import with_branches

# What the calls are of; whoever runs the code defines them.
IF, AND, OR, NOT, COMPARED = (
    f"_cloakwork_{name}" for name in ("if", "and", "or", "not", "compared")
)

_OF_COMPARISON: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
# The function that another is compiled within.
_AROUND = "_cloakwork_around"
# What a part of an expression does to the function around it.
_BINDING = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
# Flags of `from __future__ import ...`.
_FUTURE = 0x1FF0000


def rewritten_code(function: FunctionType) -> CodeType | None:
    """The code of a function whose conditions are calls; None where its source is not found.

    Example:
        >>> rewritten_code(eval("lambda x: not x")) is None
        True
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    imports = [*_imports_of_module(tree)]
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and _first_line(node) == code.co_firstlineno
        and _is_code(_compiled(node, code, imports), code)
    ]
    # Of several on one line that are the same any will do.
    return _compiled(_Rewriting().of_function(found[0]), code, imports) if found else None


def _imports_of_module(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports outside of functions and classes: what they name is called otherwise."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Import | ast.ImportFrom):
            yield each
        elif not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _imports_of_module(each)


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min(each.lineno for each in (node, *decorators))


def _is_code(own: CodeType | None, code: CodeType) -> bool:
    """Whether code is that of a function, as far as another place lets it be."""
    return own is not None and _without_place(own) == _without_place(code)


def _without_place(code: CodeType) -> tuple[object, ...]:
    """What code does, and that of the functions within, wherever it stands."""
    return (
        code.co_name,
        code.co_varnames,
        code.co_names,
        code.co_freevars,
        code.co_code,
        *(
            _without_place(each) if isinstance(each, CodeType) else (type(each), each)
            for each in code.co_consts
        ),
    )


def _compiled(
    node: ast.FunctionDef | ast.Lambda,
    code: CodeType,
    imports: Sequence[ast.Import | ast.ImportFrom],
) -> CodeType | None:
    """The code of a function where the names are free that are so in the code that is there."""
    own = deepcopy(node)
    # What is computed where the function is made is no part of its code.
    own.args.defaults, own.args.kw_defaults = [], [None for _ in own.args.kwonlyargs]
    if isinstance(own, ast.FunctionDef):
        own.decorator_list = []
    body: ast.stmt = ast.Return(own) if isinstance(own, ast.Lambda) else own
    around = ast.parse(f"def {_AROUND}({', '.join(code.co_freevars)}): pass")
    outer = around.body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [ast.copy_location(body, node)]
    if isinstance(own, ast.FunctionDef) and own.name not in code.co_freevars:
        # One that calls itself by its name in the module finds it there.
        outer.body.insert(0, ast.Global([own.name]))
    around.body[:0] = imports
    ast.fix_missing_locations(around)
    try:
        made = compile(
            around, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True
        )
    except (SyntaxError, ValueError):
        return None
    for each in _codes_in(made):
        if each.co_name == code.co_name and set(each.co_freevars) <= set(code.co_freevars):
            return each.replace(co_qualname=code.co_qualname)
    return None


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """What is within the code of a module, but for the function around."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_name != _AROUND:
                yield each
            yield from _codes_in(each)


# What compares as a whole.
_MADE = (ast.Tuple, ast.List)


class _Rewriting(ast.NodeTransformer):
    """Conditions as calls, whose parts are functions that are called where they are needed."""

    def of_function(self, node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
        """A function, rewritten; what it is given stays."""
        made = deepcopy(node)
        self.generic_visit(made)
        return with_branches(made) if isinstance(made, ast.FunctionDef) else made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function within."""
        self.generic_visit(node)
        return with_branches(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """`a if c else b`"""
        self.generic_visit(node)
        if _binds(node):
            return node
        return _call(IF, [node.test, _later(node.body), _later(node.orelse)], node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`a and b or c`"""
        self.generic_visit(node)
        if _binds(node):
            return node
        name = AND if isinstance(node.op, ast.And) else OR
        first, *rest = node.values
        return _call(name, [first, *map(_later, rest)], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """`not a`"""
        self.generic_visit(node)
        return _call(NOT, [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """`a < b < c`, `a in b`, and `(a, b) < (c, d)`"""
        is_made = any(isinstance(each, _MADE) for each in (node.left, *node.comparators))
        self.generic_visit(node)
        asks = len(node.ops) > 1 or isinstance(node.ops[0], ast.In | ast.NotIn) or is_made
        if not asks or _binds(node):
            return node
        pairs: list[ast.expr] = [
            ast.Tuple([ast.Constant(_OF_COMPARISON[type(each)]), _later(right)], ast.Load())
            for each, right in zip(node.ops, node.comparators, strict=True)
        ]
        return _call(COMPARED, [node.left, *pairs], node)


def _binds(node: ast.AST) -> bool:
    return any(isinstance(each, _BINDING) for each in ast.walk(node))


def _later(value: ast.expr) -> ast.expr:
    """A value as a function without arguments."""
    none = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(none, value), value)


def _call(name: str, arguments: Sequence[ast.expr], node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [*arguments], []), node)
