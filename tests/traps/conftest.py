"""Each family's traps, one test a trap: FAMILY of a module is its family."""

import pytest

from triton_grad.testing.check import check_op
from triton_grad.testing.museum import EXHIBITS, Exhibit
from triton_grad.testing.report import Report
from triton_grad.testing.tour import can_be_caught_here


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "exhibit" in metafunc.fixturenames:
        wanted = vars(metafunc.module)["FAMILY"]
        family = [it for it in EXHIBITS if it.family == wanted]
        metafunc.parametrize("exhibit", family, ids=lambda it: it.name)


@pytest.fixture
def report(exhibit: Exhibit) -> Report:
    """What check_op says of the trap."""
    if not can_be_caught_here(exhibit):
        pytest.skip(f"it needs {exhibit.needs}")
    return check_op(
        exhibit.op, exhibit.oracle, exhibit.inputs, **exhibit.options
    )
