"""The fuzzer's command line."""

from __future__ import annotations

import sys

from backfill_assets_tests.fuzz.cli import main

if __name__ == "__main__":
    sys.exit(main())
