"""Queue, admission, cost and retry: pure logic that knows no HTTP, no process and no model."""
