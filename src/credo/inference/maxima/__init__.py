"""Best configurations without a junction tree: cuts, bounds by messages, and local moves."""
