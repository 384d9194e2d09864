"""Signing in through an OpenID Connect provider; nothing of it runs while none is set up."""
