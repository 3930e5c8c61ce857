"""Run in voicevox-py's environment: HOST PORT FOLDER. Its two clients, side by side."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from src.voicevox import AsyncClient, Client  # type: ignore[import-not-found]

TEXT = "こんにちは、ヒホです。"


async def several(host: str, port: int, folder: Path) -> None:
    async with AsyncClient(host, port) as client:
        await asyncio.gather(*(client.generate(TEXT, speaker, folder / f"async-{speaker}.wav") for speaker in (0, 1)))


def main(host: str, port: int, folder: Path) -> None:
    with Client(host, port) as client:
        for speaker in (0, 1):
            client.generate(TEXT, speaker, folder / f"plain-{speaker}.wav")
    asyncio.run(several(host, port, folder))


main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
