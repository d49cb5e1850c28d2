"""Every decision of a module changed, one at a time: comparisons, and/or, not, conditions and what a loop goes over."""

from __future__ import annotations

import ast
from typing import Final

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
