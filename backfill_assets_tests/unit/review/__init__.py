"""Tests of the reviewer's page, without a browser."""
