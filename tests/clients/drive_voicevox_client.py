"""Run in voicevox-client's environment: URL FOLDER. All calls of its client; prints what they gave."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from vvclient import Client  # type: ignore[import-not-found]
from vvclient.errors import HTTPException, NotFoundError  # type: ignore[import-not-found]


async def main(url: str, folder: Path) -> None:
    async with Client(url) as client:
        version = await client.fetch_engine_version()
        cores = await client.fetch_core_versions()
        initialized = await client.is_inited_speaker(1)
        await client.init_speaker(1, skip_reinit=True, core_version=cores[0])
        query = await client.create_audio_query("ですか？", 1)
        (folder / "question.wav").write_bytes(await query.synthesis(1, enable_interrogative_upspeak=True))
        (folder / "plain.wav").write_bytes(await query.synthesis(1, core_version=cores[0]))
        kana = {}
        for english in (True, False):
            spelt = await client.create_audio_query("voivo", 1, enable_katakana_english=english)
            kana[english] = spelt.data["kana"]
        errors = []
        for call in (client.create_audio_query("はい", 99999), client.init_speaker(1, core_version="0.0.0")):
            try:
                await call
            except HTTPException as error:
                errors.append([error.status_code, isinstance(error, NotFoundError)])
        print(
            json.dumps(
                {
                    "version": version,
                    "cores": cores,
                    "initialized": initialized,
                    "kana": query.data["kana"],
                    "english": [kana[True], kana[False]],
                    "errors": errors,
                }
            )
        )


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
