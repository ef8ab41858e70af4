"""Worked examples: four small projects, each with its data and the change that makes a backfill necessary."""

from __future__ import annotations
