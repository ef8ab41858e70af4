"""How does an environment come to show new versions? The gate, the pointers, and the one commit that moves them."""
