"""What the attention families share. No family itself: `attention_fwd` and its siblings are."""
