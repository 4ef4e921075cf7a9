"""Fixtures that every kind of test may use: the real model, the frozen executable, a free port."""

import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from ignis.catalog import load_catalog
from tests import ports

ROOT = Path(__file__).resolve().parents[1]

# A busy machine is no fault of what is tested, and the same code passes or fails alike each time. To look further, run
# a test with --hypothesis-profile=explore.
SLOW = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("ignis", deadline=None, suppress_health_check=SLOW, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, suppress_health_check=SLOW, max_examples=1000)
hypothesis.settings.load_profile("ignis")


@pytest.fixture(scope="session")
def real_model() -> Path:
    """The catalog's default model, as `build.py test` fetched it. Without it the test fails; it is never skipped."""
    catalog = load_catalog()
    path = catalog.models[catalog.default].verified(ROOT / "models")
    if path is None:
        pytest.fail(
            "the default model is not in models/; fetch it with: python3 build.py test, or ignis-server model download"
        )
    return path


@pytest.fixture(scope="session")
def executable() -> Path:
    """dist/ignis-server, built for this session where it is not up to date."""
    built = subprocess.run([sys.executable, "build.py", "binary"], cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        pytest.fail(f"build.py binary failed:\n{built.stdout}{built.stderr}")
    return ROOT / "dist" / "ignis-server"


@pytest.fixture
def free_port() -> int:
    """A TCP port that nobody listens on."""
    return ports.free_port()
