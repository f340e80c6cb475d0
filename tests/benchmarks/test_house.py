import json
import subprocess
import sys
from pathlib import Path

import house_code
import house_tests
import pytest
from house_code import Module

CHECKOUT = Path(__file__).resolve().parents[2]

SELECTION = '''
"""Selection."""
import numpy as np

def select(columns, n):
    """Return the best n."""
    free = np.ones(len(columns), bool)
    chosen = []
    while len(chosen) < n:
        best = pick(columns, free)
        chosen.append(best)
        take(free, best)
    return chosen

def pick(columns, free):
    return int(np.where(free, columns, -1.0).argmax())

def take(free, best):
    free[best] = False

def all_of(many):
    for columns in many:  # a loop around the selection is none itself
        select(columns, 3)

def largest(rows):
    for row in rows:  # chooses, and marks nothing
        print(row.argmax())
'''


def module(text, path="acoustic/kernels/selection.py"):
    return Module(path, text)


class TestSizes:
    TEXT = (
        '"""Head."""\n\nX = 1  # one\n\n\nclass A:\n    """A."""\n\n    def f(self):\n'
        '        """F.\n\n        More.\n        """\n        # why\n'
        '        y = """a\nb"""\n        return y\n'
    )

    def test_lines_of_code(self):
        found = module(self.TEXT)
        assert house_code.longest_modules([found]) == [(found.path, 6)]
        assert house_code.longest_functions([found]) == [(f"{found.path}: A.f", 4)]

    def test_folders(self):
        paths = ("asr/cli.py", "asr/__init__.py", "asr/store.py", "asr/verbs.py")
        found = house_code.modules_by_folder(module("", path) for path in paths)
        assert found == {"asr": 2, "asr/stages": 1}


class TestPlaces:
    def test_greedy_loops(self):
        assert house_code.greedy_loops([module(SELECTION)]) == [
            ("acoustic/kernels/selection.py", "line 9: in select")
        ]
        assert house_code.greedy_loops([module(SELECTION, "decoder/search.py")]) == []

    def test_greedy_loops_through_another_module(self):
        body, scorer = SELECTION.split("def pick")
        scorer = "def pick" + scorer.split("def all_of")[0]
        found = house_code.greedy_loops([module(body), module(scorer, "acoustic/kernels/scorers.py")])
        assert found == [("acoustic/kernels/selection.py", "line 9: in select")]

    @pytest.mark.parametrize(
        ("check", "kinds"),
        [
            ("isinstance(m, PooledMachines)", "PooledMachines"),
            ("isinstance(m, (A, pooled.PooledMachines))", "(A, pooled.PooledMachines)"),
            ("isinstance(m, A | PooledMachines)", "A | PooledMachines"),
            ("type(m) is PooledMachines", "PooledMachines"),
        ],
    )
    def test_machine_checks(self, check, kinds):
        text = f"class PooledMachines: ...\nclass A: ...\ndef f(m):\n    return {check}\n"
        assert house_code.machine_checks([module(text)]) == [
            ("acoustic/kernels/selection.py", f"line 4: {kinds}")
        ]

    def test_machine_checks_of_a_case(self):
        text = "class PooledMachines: ...\nmatch m:\n    case PooledMachines():\n        pass\n"
        assert house_code.machine_checks([module(text)]) == [
            ("acoustic/kernels/selection.py", "line 3: PooledMachines")
        ]

    def test_other_checks(self):
        text = "class PooledMachines: ...\nisinstance(m, str)\nPooledMachines(type(m))\n"
        assert house_code.machine_checks([module(text)]) == []

    def test_kernels(self):
        text = (
            'def a(x):\n    """Return k(x, c)."""\n    return np.exp(x)\n'
            "class FastKernel:\n    def b(self, x):\n        return _exp(x)\n"
            'def c(x):\n    """Return the sigmoid."""\n    return np.exp(x)\n'
            'def d(x):\n    """Return k(x, c)."""\n    return a(x)\n'
        )
        assert [name for _, name in house_code.kernel_implementations([module(text)])] == [
            "a",
            "FastKernel.b",
        ]

    def test_limiters_and_aliases(self):
        text = (
            "Floats = NDArray[np.float64]\nInts: TypeAlias = npt.NDArray[np.int32]\nX = list[int]\n"
            "with threadpool_limits(1):\n    C = threadpoolctl.ThreadpoolController()\n"
        )
        limiters = house_code.blas_limiters([module(text)])
        aliases = house_code.array_aliases([module(text)])
        assert [place for _, place in limiters] == [
            "line 4: threadpool_limits(1)",
            "line 5: threadpoolctl.ThreadpoolController()",
        ]
        assert [place for _, place in aliases] == [
            "Floats = NDArray[np.float64]",
            "Ints: TypeAlias = npt.NDArray[np.int32]",
        ]


class TestTests:
    @pytest.mark.parametrize(
        "body",
        ["assert x == 1", "assert_allclose(x, 1)", "with pytest.raises(E): f()", "helper(x)"],
    )
    def test_with_an_assertion(self, body):
        text = f"def test_a(x):\n    {body}\ndef helper(x):\n    assert x\n"
        assert house_tests.tests_without_assertion([module(text)]) == []

    def test_without_an_assertion(self):
        text = "class TestA:\n    def test_b(self):\n        run()\n"
        assert house_tests.tests_without_assertion([module(text)]) == [
            ("acoustic/kernels/selection.py", "TestA.test_b")
        ]

    @pytest.mark.parametrize(
        "test",
        [
            "x.shape == (1, 2)",
            "isinstance(x, A) and x.dtype == float",
            "(x.shape, y.ndim) == ((1,), 2)",
            "np.isfinite(x).all()",
            "all(isinstance(v, A) for v in x)",
            "x is not None",
        ],
    )
    def test_of_form(self, test):
        assert house_tests.tests_of_form_only([module(f"def test_a():\n    assert {test}\n")]) == [
            ("acoustic/kernels/selection.py", "test_a")
        ]

    @pytest.mark.parametrize(
        "test", ["x == 1", "x is None", "len(x) == 3", "x.all()", "x.shape == (1,) and x[0] == 2"]
    )
    def test_of_more_than_form(self, test):
        assert house_tests.tests_of_form_only([module(f"def test_a():\n    assert {test}\n")]) == []

    def test_raises(self):
        text = (
            "def test_a():\n"
            "    with pytest.raises(E): f()\n"
            "    with pytest.raises(E, match='x'): f()\n"
            "    with pytest.raises(E) as error: f()\n"
        )
        assert [place for _, place in house_tests.raises_without_match([module(text)])] == ["line 2"]

    def test_modules_without_a_file(self):
        code = "def f(): ...\n"
        product = [module(code, p) for p in ("asr/cli.py", "asr/store.py", "asr/__init__.py")]
        product.append(module("X = 1\n", "asr/names.py"))
        tests = [module("", "tests/asr/test_cli.py"), module("", "tests/asr/test_store.py")]
        assert house_tests.modules_without_tests(product, tests) == [("asr/store.py",)]


@pytest.mark.slow
def test_this_checkout(tmp_path):
    out = tmp_path / "house.json"
    script = CHECKOUT / "benchmarks" / "house.py"
    command = [sys.executable, script, CHECKOUT, "--lists", "--out", out]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    house = next(v for k, v in json.loads(out.read_text()).items() if k.startswith(CHECKOUT.name))
    assert house["modules"]["features"] > 5
    assert "gmm.beam" in house["options"]
    assert house["estimators"]["KRLSClassifier"][:2] == ["sigma", "max_centers"]
    assert f"| configuration options | {len(house['options'])} |" in done.stdout
