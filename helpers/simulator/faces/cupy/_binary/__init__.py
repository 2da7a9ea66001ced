"""Binary routines."""
