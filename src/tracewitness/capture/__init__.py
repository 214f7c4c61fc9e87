"""Record what an agent does where its framework records nothing: functions are wrapped, a ``with`` block records."""

from __future__ import annotations

from .recorder import Recorder, record
from .recordings import Recording

__all__ = ["Recorder", "Recording", "record"]
