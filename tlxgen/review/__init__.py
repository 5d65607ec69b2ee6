"""What people read: tables of variants and plans, progress, differences."""
