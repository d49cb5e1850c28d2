"""Every decision of a module changed, one at a time: comparisons, and/or, not, conditions and what a loop goes over."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, TypeVar

_FLIPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


_INVERTED: Final = frozenset({"flipped", "without not"})
C = TypeVar("C", ast.If, ast.IfExp)


class Mutate(ast.NodeTransformer):
    """Applies mutation number ``wanted``, and counts all possible ones."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.seen = 0
        self.description = ""

    def is_wanted(self, node: ast.expr | ast.keyword, change: str) -> bool:
        self.seen += 1
        if self.seen - 1 == self.wanted:
            self.description = f"line {node.lineno}: {ast.unparse(node)} {change}"
            return True
        return False

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        kind = type(node.ops[0])
        if kind in _FLIPPED and self.is_wanted(node, "flipped"):
            node.ops[0] = _FLIPPED[kind]()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self.is_wanted(node, "with and/or swapped"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and self.is_wanted(node, "without not"):
            return node.operand
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if self.is_wanted(node, "always the first"):
            return node.body
        if self.is_wanted(node, "always the second"):
            return node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.body[0], ast.Raise):  # an invariant, which nothing breaks
            return node
        if self.is_wanted(node.test, "always true"):
            node.test = ast.Constant(value=True)
        elif self.is_wanted(node.test, "never true"):
            node.test = ast.Constant(value=False)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Leave out each part of what is gone over, as in ``(*answerers, *voters)``."""
        self.generic_visit(node)
        if isinstance(node.iter, ast.Tuple) and len(node.iter.elts) > 1:
            for each in node.iter.elts:
                if self.is_wanted(each, "left out"):
                    node.iter.elts.remove(each)
                    break
        return node


class Decision(NamedTuple):
    """A decision of a function, and how it is changed."""

    function: str
    """Its name, after its class's if it is a method."""
    line: int
    change: str
    """The decision as code, and what is done to it."""

    def __str__(self) -> str:
        return f"{self.function}, line {self.line}: {self.change}"


def list_decisions(source: str) -> list[Decision]:
    """Return each decision in the functions of a module, in the order of their numbers."""
    mutate = _MutateFunctions(wanted=-1)
    mutate.visit(ast.parse(source))
    return mutate.found


def change_decision(module_name: str, number: int) -> None:
    """Change one decision of an imported module, wherever its functions have been imported, too."""
    module = importlib.import_module(module_name)
    mutate = _MutateFunctions(wanted=number)
    tree = ast.fix_missing_locations(mutate.visit(ast.parse(inspect.getsource(module))))
    changed = {code.co_qualname: code for code in _codes(compile(tree, "changed", "exec"))}
    name = mutate.found[number].function
    [function] = {each for each in _functions(module) if each.__qualname__ == name}
    function.__code__ = changed[name]


class _MutateFunctions(Mutate):
    """Mutates only functions and methods, and notes which decisions they have."""

    def __init__(self, wanted: int) -> None:
        super().__init__(wanted)
        self.found: list[Decision] = []
        self._function = ""
        self._class = ""
        self._noticed_anyway: ast.expr | None = None

    def visit_If(self, node: ast.If) -> ast.AST:
        if ast.unparse(node.body[0]).startswith("raise AssertionError"):
            return node  # an invariant, which nothing breaks
        return self._visit_condition(node, super().visit_If)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._visit_condition(node, super().visit_IfExp)

    def _visit_condition(self, node: C, visit: Callable[[C], ast.AST]) -> ast.AST:
        """Do not flip a comparison that is the whole condition: to see it always true shows that, too."""
        self._noticed_anyway = node.test
        return visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._class = f"{node.name}."
        self.generic_visit(node)
        self._class = ""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._visit_function(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        outer = self._function
        self._function = outer or self._class + node.name
        self.generic_visit(node)
        self._function = outer
        return node

    def is_wanted(self, node: ast.expr | ast.keyword, change: str) -> bool:
        if not self._function or (node is self._noticed_anyway and change in _INVERTED):
            return False
        self.found.append(Decision(self._function, node.lineno, f"{ast.unparse(node)} {change}"))
        return super().is_wanted(node, change)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods that a module defines, without what decorators wrap around them."""
    classes = [each for each in vars(module).values() if inspect.isclass(each)]
    for holder in (module, *(each for each in classes if each.__module__ == module.__name__)):
        for each in vars(holder).values():
            inner: Any = each.fget if isinstance(each, property) else each
            function = inspect.unwrap(getattr(inner, "__func__", inner))
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                yield function
