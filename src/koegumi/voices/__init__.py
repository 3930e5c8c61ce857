"""Voice families: one folder each, behind one interface."""
