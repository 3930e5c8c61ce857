"""The crew: slots, the processes that fill them, and their supervisor."""
