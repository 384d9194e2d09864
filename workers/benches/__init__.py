"""Benches: `manage.py bench NAME`. Each measures one thing and prints ratios, not promises."""
