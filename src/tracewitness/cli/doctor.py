"""``tracewitness doctor``: what is installed, what of it works together, and what is missing."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

import click
import msgspec
from msgspec import Struct

import tracewitness
from tracewitness.cli.frameworks_in_use import FRAMEWORKS
from tracewitness.display import plural, printable

__all__ = ["command"]

State = Literal["fits", "too old", "missing"]

_PURPOSES: Final = {
    "batch": "scan and query: many traces",
    "http": "bodies packed with brotli or zstd",
    "inspect": "logs of Inspect that are packed with zstd",
    "otel": "spans in protocol buffers",
    "ray": "scan --engine ray",
    "schema": "JSON Schema: $schema, checks of arguments against tools",
    "simulate": "simulate: conversations with models",
    "spark": "scan --engine spark",
}
_REQUIREMENT: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?P<bounds>[^;]*)(?:;(?P<marker>.*))?")
_EXTRA: Final = re.compile(r"\bextra\s*==\s*['\"]([^'\"]+)['\"]")


class Package(Struct, frozen=True):
    """A distribution that something needs.

    Attributes:
        name: its name.
        bounds: the versions that are known to work, such as ``>=1.2``.
        version: what is installed, or an empty text.
        state: what came of comparing the two; a version that can't be compared fits.
    """

    name: str
    bounds: str
    version: str
    state: State


class Extra(Struct, frozen=True):
    """What is installed by ``tracewitness[name]``."""

    name: str
    purpose: str
    packages: list[Package]

    @property
    def is_ready(self) -> bool:
        """Whether all that it needs is there."""
        return all(package.state == "fits" for package in self.packages)


class Diagnosis(Struct, frozen=True):
    """What was found.

    Attributes:
        tracewitness, python, platform: versions.
        location: the folder that the library was imported from.
        core: what it can't do without.
        extras: what only some need.
        frameworks: the agent frameworks that are installed, with their versions.
        formats: how many formats of recordings can be read.
        pytest: the version of pytest, or an empty text.
        plugin: whether pytest loads the plugin by itself.
        encoding: that of the standard output.
        problems: what has to be mended.
    """

    tracewitness: str
    python: str
    platform: str
    location: str
    core: list[Package]
    extras: list[Extra]
    frameworks: dict[str, str]
    formats: int
    pytest: str
    plugin: bool
    encoding: str
    problems: list[str]


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(as_json: bool) -> None:
    """Tell what is installed, what of it works together, and what is missing. Put it into a report of a bug.

    Nothing is sent anywhere, and nothing but versions and the library's own folder is shown.

    Exit status: 0 all that the library needs is there, 1 something is missing or too old. An extra that is not
    installed is no problem.

    \b
    Examples:
      tracewitness doctor
      tracewitness doctor --json
    """
    found = _diagnosis()
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        for line in _lines(found):
            click.echo(line)
    sys.exit(1 if found.problems else 0)


def _diagnosis() -> Diagnosis:
    from tracewitness.readers.registry import READERS

    core, extras = _required()
    pytest_version = _version("pytest")
    return Diagnosis(
        tracewitness=tracewitness.__version__,
        python=platform.python_version(),
        platform=platform.platform(),
        location=printable(str(Path(tracewitness.__file__).parent), 500),
        core=core,
        extras=extras,
        frameworks=dict(_frameworks()),
        formats=len(READERS),
        pytest=pytest_version,
        plugin=bool(pytest_version) and _has_plugin(),
        encoding=sys.stdout.encoding or "",
        problems=[*_problems(core), *_odd_extras(extras)],
    )


def _required() -> tuple[list[Package], list[Extra]]:
    """Return what the library's own metadata asks for: for everything, and for each extra."""
    core: list[Package] = []
    extras: dict[str, list[Package]] = {}
    for text in metadata.requires("tracewitness") or ():
        found = _REQUIREMENT.match(text)
        assert found is not None  # noqa: S101 - the pattern takes every requirement that a build writes
        marker = found["marker"] or ""
        extra = _EXTRA.search(marker)
        package = _package(found["name"], found["bounds"].strip())
        if extra is None:
            core.append(package)
        elif _applies(marker, extra[1]):
            extras.setdefault(extra[1], []).append(package)
        else:
            extras.setdefault(extra[1], [])
    return core, [Extra(name, _PURPOSES.get(name, ""), packages) for name, packages in sorted(extras.items())]


def _applies(marker: str, extra: str) -> bool:
    """Whether a requirement is one on this version of Python."""
    try:
        from packaging.markers import Marker
    except ImportError:  # the whole of a marker takes a parser; what it asks for beside the extra is rare
        return True
    return Marker(marker).evaluate({"extra": extra})


def _package(name: str, bounds: str) -> Package:
    version = _version(name)
    return Package(name, bounds, version, "missing" if not version else _compared(version, bounds))


def _compared(version: str, bounds: str) -> State:
    try:
        from packaging.specifiers import SpecifierSet
    except ImportError:  # who installs by pip has the right ones
        return "fits"
    return "fits" if SpecifierSet(bounds).contains(version, prereleases=True) else "too old"


def _version(name: str) -> str:
    try:
        return printable(metadata.version(name), 60)
    except metadata.PackageNotFoundError:
        return ""


def _frameworks() -> Iterator[tuple[str, str]]:
    for framework in FRAMEWORKS:
        versions = {package: version for package in sorted(framework.packages) if (version := _version(package))}
        yield from versions.items()


def _has_plugin() -> bool:
    """Whether pytest finds the plugin, and nobody forbids it."""
    named = {entry.name for entry in metadata.entry_points(group="pytest11")}
    return "tracewitness" in named and importlib.util.find_spec("tracewitness.pytest_plugin") is not None


def _problems(core: Sequence[Package]) -> Iterator[str]:
    for package in core:
        if package.state != "fits":
            yield f"{_told(package)}: run pip install --upgrade tracewitness"


def _odd_extras(extras: Sequence[Extra]) -> Iterator[str]:
    """Yield what is there for an extra and too old for it; what is not there was not asked for."""
    for extra in extras:
        for package in extra.packages:
            if package.state == "too old":
                yield f"{_told(package)}, for {extra.name}: run {_install(extra)}"


def _told(package: Package) -> str:
    if package.state == "missing":
        return f"{package.name} is missing"
    return f"{package.name} {package.version} is too old: {package.bounds} is needed"


def _install(extra: Extra) -> str:
    return f"pip install --upgrade 'tracewitness[{extra.name}]'"


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"tracewitness {found.tracewitness} in {found.location}"
    yield f"Python {found.python} on {found.platform}; the standard output is {found.encoding}"
    yield f"core: {_named(found.core)}"
    yield f"readers: {plural(found.formats, 'format')}; tracewitness formats lists them"
    plugin = ", which loads the plugin" if found.plugin else ", which does not find the plugin"
    yield f"pytest: {found.pytest + plugin if found.pytest else 'not installed'}"
    frameworks = ", ".join(f"{name} {version}" for name, version in found.frameworks.items())
    yield f"frameworks: {frameworks or 'none of those that init knows'}"
    yield "extras:"
    width = max((len(extra.name) for extra in found.extras), default=0)
    for extra in found.extras:
        state = f"ready ({_named(extra.packages)})" if extra.is_ready else f"missing: {_install(extra)}"
        yield f"  {extra.name:<{width}}  {state}; {extra.purpose}"
    yield from (f"problem: {problem}" for problem in found.problems)
    if not found.problems:
        yield "no problem found"


def _named(packages: Sequence[Package]) -> str:
    named = (f"{package.name} {package.version or 'missing'}" for package in packages)
    return ", ".join(named) or "nothing on this Python"
