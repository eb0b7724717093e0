"""The persistent index: its class, settings and folders."""
