#!/usr/bin/env bash
# plan.sh BACKFILL FOLDER: what `backfill` says of the project that BACKFILL_PROJECT names, as files. 0 also where it
# refuses to plan: then plan.md is empty, and error.txt says why.
set -uo pipefail
backfill=$1 folder=$2
rm -rf "$folder" && mkdir -p "$folder" || exit 1
if "$backfill" plan --markdown > "$folder/plan.md" 2> "$folder/error.txt" &&
  "$backfill" plan --json > "$folder/plan.json" 2>> "$folder/error.txt"; then
  "$backfill" plans --waiting-for "" --json > "$folder/waiting.json" 2>> "$folder/error.txt" || : > "$folder/waiting.json"
else
  : > "$folder/plan.md" > "$folder/plan.json"
fi
sed 's/^/| /' "$folder/error.txt" >&2 # a line of it that begins with `::` would be a command to GitHub's runner
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$folder/plan.md" >> "$GITHUB_STEP_SUMMARY"; fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "folder=$folder" >> "$GITHUB_OUTPUT"; fi
