"""Whether a text is kana notation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from koegumi.api.front import TheFront
from koegumi.api.text_body import TextRoute
from koegumi.api.work import answer, kana_job
from koegumi.schema.models import ParseKanaBadRequest
from koegumi.wire.messages import KanaCall

router = APIRouter(route_class=TextRoute)


@router.post(
    "/validate_kana",
    response_model=bool,
    responses={400: {"description": "The text is no kana notation", "model": ParseKanaBadRequest}},
    tags=["server"],
)
async def validate_kana(
    request: Request, front: TheFront, text: Annotated[str, Query(description="What is asked about.")]
) -> Response:
    """Tell whether a text is kana notation: true, or 400 with the reason."""
    return await answer(request, front, kana_job(KanaCall(text)))
