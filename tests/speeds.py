"""Kernels at one speed of the two, or at both, for a test."""

from credo._kernels.tiers import Kernel


def plain_kernels(monkeypatch):
    """Run every kernel as plain Python, until the test is over."""
    monkeypatch.setattr(Kernel, "__call__", lambda kernel, *arguments: kernel.plain()(*arguments))


def both_speeds(monkeypatch):
    """Run every kernel at both speeds and compare all bits, until the test is over."""
    monkeypatch.setattr(Kernel, "__call__", Kernel.compare)
