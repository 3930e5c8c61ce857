"""What travels: plain structs for workers, pydantic models for HTTP."""
