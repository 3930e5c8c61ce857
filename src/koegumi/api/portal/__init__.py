"""The page at the root: what this is, and where to go. It needs nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import HTMLResponse

router = APIRouter()

PAGE = (Path(__file__).parent / "index.html").read_text(encoding="utf-8")


@router.get("/", response_class=HTMLResponse, tags=["server"])
async def get_portal_page() -> str:
    """The portal, a page for people."""
    return PAGE
