"""The library's tests beside other versions: `make test-versions`."""

import nox

nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"

PAIRS = [
    # What outputs on the H200 are recorded with.
    ("2.11.0", "3.6.0"),
    ("2.13.0", "3.6.0"),
    ("2.13.0", "3.9.0"),
    ("2.14.1", "3.8.0"),
]
ON_THE_INTERPRETER = {"CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "1"}


@nox.session
@nox.parametrize(("torch", "triton"), PAIRS)
def versions(session: nox.Session, torch: str, triton: str) -> None:
    session.install("--editable", ".[test-library]", f"torch=={torch}")
    # Without --no-deps pip refuses a triton that is not this torch's own.
    session.install("--no-deps", f"triton=={triton}")
    session.run(
        *("python", "-m", "pytest"),
        *("tests/triton_grad", "tests/ch16", "tests/ch17"),
        env=ON_THE_INTERPRETER,
    )
