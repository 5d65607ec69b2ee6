"""Output for readers: tables of variants and plans, progress, differences."""
