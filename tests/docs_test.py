from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "src").rglob("*.py"))
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src").as_posix()


def public(body: list[ast.stmt]) -> list[Definition]:
    return [node for node in body if isinstance(node, Definition) and not node.name.startswith("_")]


def undocumented(module: ast.Module) -> list[str]:
    found = [] if ast.get_docstring(module) else ["the module"]
    for node in public(module.body):
        if not ast.get_docstring(node):
            found.append(node.name)
        methods = public(node.body) if isinstance(node, ast.ClassDef) else []
        found += [
            f"{node.name}.{method.name}" for method in methods if not (ast.get_docstring(method) or overrides(method))
        ]
    return found


def overrides(method: Definition) -> bool:
    """Whether a decorator says that the method's meaning is told where it is first declared, or is one of several."""
    names = {node.id for node in method.decorator_list if isinstance(node, ast.Name)}
    names |= {node.attr for node in method.decorator_list if isinstance(node, ast.Attribute)}
    return bool(names & {"override", "overload", "setter"})


def exported(module: ast.Module) -> set[str]:
    for node in module.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_public_name_has_a_docstring(path: Path):
    assert undocumented(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_exported_name_exists(path: Path):
    module = importlib.import_module(name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    names = exported(ast.parse(path.read_text(encoding="utf-8")))
    assert [name for name in sorted(names) if not hasattr(module, name)] == []


def test_generated_files_are_what_the_code_says(generate: ModuleType):
    assert generate.drifted() == []


def test_a_drifted_file_is_named(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["generate.py"])
    assert generate.main() == 0
    stale = tmp_path / "docs" / "glossary.md"
    stale.write_text("edited by hand", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert generate.main() == 1
    assert capsys.readouterr().err.splitlines() == [
        "docs/glossary.md: differs from the code it is generated from; run `make schema`"
    ]
