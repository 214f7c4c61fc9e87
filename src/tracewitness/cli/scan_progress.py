"""How far a scan is, on a terminal: the rate, and how long it will still take."""

from __future__ import annotations

from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tracewitness.batch.scanning import Progress

__all__ = ["ScanProgress", "progress_text"]

_MINUTE = 60
_HOUR = 3600


class ScanProgress:
    """Shows the progress of a scan. Used as a context; where the stream is no terminal it shows nothing."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._stream is not None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

            columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(file=self._stream), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, progress: Progress) -> None:
        """Show how far the scan is."""
        if self._bar is not None:
            self._bar.update(
                self._task,
                description=progress_text(progress),
                completed=progress.bytes_done,
                total=progress.bytes_all,
            )


def progress_text(progress: Progress) -> str:
    """Say how many runs are checked, how fast that goes and how long it will still take, where that can be known."""
    rate = progress.runs / progress.seconds if progress.seconds else 0.0
    text = f"{progress.runs:,} runs, {rate:,.0f} a second"
    if not progress.bytes_all or not progress.bytes_done:
        return text
    left = progress.seconds * max(progress.bytes_all - progress.bytes_done, 0) / progress.bytes_done
    return f"{text}, {_duration(left)} left"


def _duration(seconds: float) -> str:
    if seconds >= _HOUR:
        return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"
    return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s" if seconds >= _MINUTE else f"{seconds:.0f} s"
