"""The package's own checks under pytest; those of the kernel run on the GPU it was measured on."""

import pytest

from fast_double import check


@pytest.mark.parametrize("one", check.ANYWHERE, ids=lambda one: one.__name__)
def test_anywhere(one):
    one()


@pytest.mark.skipif(not check.measured_here(), reason="this is not the GPU that the kernel was measured on")
@pytest.mark.parametrize("one", check.ON_THE_GPU, ids=lambda one: one.__name__)
def test_on_the_gpu(one):
    one()
