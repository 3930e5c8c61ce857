"""Run in mcp-server-voicevox's environment: URL. An MCP session with its server, which calls ours."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters  # type: ignore[import-not-found]
from mcp.client.stdio import stdio_client  # type: ignore[import-not-found]


async def main(url: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "mcp_server_voicevox", "--voicevox-url", url], env={"PYTHONUTF8": "1"}
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()

        async def call(tool: str, **arguments: Any) -> list[Any]:
            answer = await session.call_tool(tool, arguments)
            return [answer.isError, answer.content[0].text]

        speech = {"text": "こんにちは", "auto_play": False}  # there may be nothing here that plays
        print(
            json.dumps(
                {
                    "tools": [tool.name for tool in (await session.list_tools()).tools],
                    "voices": await call("get_voices"),
                    "plain": await call("text_to_speech", **speech, speaker_id=0),
                    "fast": await call("text_to_speech", **speech, speaker_id=2, speed=2.0),
                    "unknown": await call("text_to_speech", **speech, speaker_id=99999),
                }
            )
        )


asyncio.run(main(sys.argv[1]))
