"""The setting page, and what it changes: from the next start on."""

from __future__ import annotations

import asyncio
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.responses import HTMLResponse, Response

from koegumi.api.body import read_body
from koegumi.api.front import TheFront
from koegumi.api.stored import INVALID, MUTABLE, no_content
from koegumi.schema.stored import CorsPolicyMode, Setting

router = APIRouter()

PAGE = Template(Path(__file__).with_name("setting.html").read_text(encoding="utf-8"))
FORM = "Body_setting_post"
FORM_BYTES = 64 * 1024
BODY: dict[str, Any] = {
    "requestBody": {
        "content": {"application/x-www-form-urlencoded": {"schema": {"$ref": f"#/components/schemas/{FORM}"}}},
        "required": True,
    }
}
_MODE = TypeAdapter(CorsPolicyMode)
# A page that somebody else put into a frame could have its button pressed by a user who sees another page.
NO_FRAMES = {"X-Frame-Options": "DENY", "Cache-Control": "no-store"}


@router.get("/setting", response_class=Response, tags=["setting"])
async def setting_get(front: TheFront) -> Response:
    """Show the setting page."""
    setting = (await asyncio.to_thread(front.state.setting.read)).value
    checked = {mode.value: "checked" if mode is setting.cors_policy_mode else "" for mode in CorsPolicyMode}
    page = PAGE.substitute(checked, allow_origin=escape(setting.allow_origin or ""))
    return HTMLResponse(page, headers=NO_FRAMES)


@router.post("/setting", status_code=204, dependencies=MUTABLE, openapi_extra=BODY, responses=INVALID, tags=["setting"])
async def setting_post(request: Request, front: TheFront) -> Response:
    """Change the settings; they are read at the next start."""
    form = parse_qs((await read_body(request, FORM_BYTES)).decode("utf-8", "replace"))
    setting = Setting(cors_policy_mode=_mode(form), allow_origin=form.get("allow_origin", [None])[-1])
    await asyncio.to_thread(front.state.setting.update, lambda _: (setting, None))
    return no_content()


def document_form(schemas: dict[str, Any]) -> None:
    """Add the form's schemas to those of the document; FastAPI knows forms only with a multipart parser."""
    schemas["CorsPolicyMode"] = _MODE.json_schema()
    schemas[FORM] = {
        "type": "object",
        "title": FORM,
        "properties": {
            "cors_policy_mode": {"$ref": "#/components/schemas/CorsPolicyMode"},
            "allow_origin": {"type": "string", "title": "Allow Origin"},
        },
        "required": ["cors_policy_mode"],
    }


def _mode(form: dict[str, list[str]]) -> CorsPolicyMode:
    location = ("body", "cors_policy_mode")
    if "cors_policy_mode" not in form:
        raise RequestValidationError([{"type": "missing", "loc": location, "msg": "Field required", "input": None}])
    try:
        return _MODE.validate_python(form["cors_policy_mode"][-1])
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": location} for each in error.errors(include_url=False)]) from None
