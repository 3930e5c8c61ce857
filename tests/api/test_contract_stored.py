"""User dictionary, presets and settings over HTTP, with workers that compile whatever they get."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml

from koegumi.api.front import Limits
from koegumi.dispatch.job import WorkFailed, WorkLost
from koegumi.wire.messages import AccentPhrasesCall, AudioQueryCall, CompileCall, Failure
from tests.api.fake import FakeDispatcher, House

JSON = "application/json"
KEY = "a11196ad-caa8-4f4e-8eb3-3d2261c798fd"
WORD = {"surface": "test", "pronunciation": "テスト", "accent_type": 1}
FULL_WORD = {
    "surface": "test",
    "priority": 5,
    "context_id": 1348,
    "part_of_speech": "名詞",
    "part_of_speech_detail_1": "固有名詞",
    "part_of_speech_detail_2": "一般",
    "part_of_speech_detail_3": "*",
    "inflectional_type": "*",
    "inflectional_form": "*",
    "stem": "*",
    "yomi": "テスト",
    "pronunciation": "テスト",
    "accent_type": 1,
    "mora_count": 3,
    "accent_associative_rule": "*",
}
PRESET = {
    "id": 1,
    "name": "はやい",
    "speaker_uuid": "7ffcb7ce-00ec-4bdc-82cd-45a8889e43ff",
    "style_id": 2,
    "speedScale": 2,
    "pitchScale": 0.1,
    "intonationScale": 1.5,
    "volumeScale": 0.5,
    "prePhonemeLength": 0.2,
    "postPhonemeLength": 0.3,
    "pauseLength": 0.4,
    "pauseLengthScale": 0.5,
}


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(state_dir=tmp_path)


def words(house: House) -> dict[str, Any]:
    answer: dict[str, Any] = house.ask("GET", "/user_dict").json()
    return answer


def add(house: House, **changes: Any) -> str:
    answer = house.ask("POST", "/user_dict_word", params=WORD | changes)
    assert answer.status_code == 200, answer.text
    word_uuid: str = answer.json()
    return word_uuid


def test_a_word_s_life(house: House) -> None:
    assert words(house) == {}
    key = add(house, priority=8, word_type="COMMON_NOUN")
    assert str(uuid.UUID(key)) == key
    (word,) = words(house).values()
    assert word == FULL_WORD | {
        "surface": "ｔｅｓｔ",
        "priority": 8,
        "context_id": 1345,
        "part_of_speech_detail_1": "一般",
        "part_of_speech_detail_2": "*",
    }
    answer = house.ask("PUT", f"/user_dict_word/{key}", params=WORD | {"surface": "犬"})
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (204, b"", JSON)
    assert words(house)[key] == FULL_WORD | {"surface": "犬"}
    answer = house.ask("DELETE", f"/user_dict_word/{key}")
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (204, b"", JSON)
    assert words(house) == {}


def test_every_text_call_carries_the_dictionary(house: House) -> None:
    texts = [("/audio_query", {}), ("/accent_phrases", {}), ("/audio_query_from_preset", {"preset_id": 1})]
    house.ask("POST", "/add_preset", json=PRESET)

    def dictionaries() -> list[str]:
        house.dispatcher.jobs.clear()
        for path, more in texts:
            house.ask("POST", path, params={"text": "犬", "speaker": 0, **more})
        calls = [call for call in house.dispatcher.calls if isinstance(call, AudioQueryCall | AccentPhrasesCall)]
        assert len(calls) == 3
        return [call.dictionary for call in calls]

    assert dictionaries() == ["", "", ""]
    key = add(house)
    compiling = house.dispatcher.calls[-1]
    assert isinstance(compiling, CompileCall)
    assert house.dispatcher.jobs[-1].lane == "query"
    assert dictionaries() == [compiling.target] * 3
    house.ask("DELETE", f"/user_dict_word/{key}")
    assert dictionaries() == ["", "", ""]


@pytest.mark.parametrize("error", [WorkFailed(Failure("invalid", "no good")), WorkLost("killed by SIGSEGV")])
def test_a_word_that_the_compiler_dies_of_is_not_kept(tmp_path: Path, error: Exception) -> None:
    add(House(state_dir=tmp_path))
    house = House(FakeDispatcher(lambda job: error), state_dir=tmp_path)
    answer = house.ask("POST", "/user_dict_word", params=WORD | {"surface": "犬"})
    assert answer.status_code == 422
    assert str(error) in answer.json()["detail"]
    assert len(words(house)) == 1


def test_importing(house: House) -> None:
    other = str(uuid.uuid4())
    body = {KEY: FULL_WORD, other: FULL_WORD | {"surface": "犬", "accent_associative_rule": "C3"}}
    answer = house.ask("POST", "/import_user_dict", params={"override": True}, json=body)
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (204, b"", JSON)
    assert words(house) == {KEY: FULL_WORD | {"surface": "ｔｅｓｔ"}, other: body[other]}
    for override, surface in ((False, "ｔｅｓｔ"), (True, "猫")):
        changed = {KEY: FULL_WORD | {"surface": "猫"}}
        assert house.ask("POST", "/import_user_dict", params={"override": override}, json=changed).status_code == 204
        assert words(house)[KEY]["surface"] == surface
    assert len(words(house)) == 2


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("zz", {}),
        (KEY, {"context_id": 1}),
        (KEY, {"part_of_speech": "動詞"}),
        (KEY, {"accent_associative_rule": "C9"}),
        (KEY, {"pronunciation": "てすと"}),
        (KEY, {"surface": "a\nb"}),
        (KEY, {"yomi": "ア,ア"}),
        (KEY, {"stem": 'a"'}),
        (KEY, {"accent_type": 4}),
        (KEY, {"priority": 11}),
        (KEY, {"surface": None}),
    ],
)
def test_importing_is_all_or_nothing(house: House, key: str, change: dict[str, Any]) -> None:
    good = str(uuid.uuid4())
    for limits in (house.limits, Limits(inline_bytes=1)):
        ours = House(state_dir=house.state_dir, limits=limits)
        body = {good: FULL_WORD, key: FULL_WORD | change}
        answer = ours.ask("POST", "/import_user_dict", params={"override": True}, json=body)
        assert answer.status_code == 422
        assert answer.json()["detail"]
        assert words(ours) == {}


@pytest.mark.parametrize("body", [b"[]", b"", b"{", b"null", b'{"a": 1}', b'{"a": {}}', b"1"])
def test_bodies_that_are_no_dictionary(house: House, body: bytes) -> None:
    answer = house.ask("POST", "/import_user_dict?override=true", content=body)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][0] == "body"


def test_a_body_of_many_wrong_words_is_cheap_to_refuse(house: House) -> None:
    for body in ({str(number): 1 for number in range(5000)}, {str(number): {"x": "y" * 200} for number in range(500)}):
        answer = house.ask("POST", "/import_user_dict?override=true", json=body)
        assert answer.status_code == 422
        assert len(answer.json()["detail"]) <= 100


def preset_ids(house: House) -> list[int]:
    return [preset["id"] for preset in house.ask("GET", "/presets").json()]


def test_a_preset_s_life(house: House) -> None:
    assert house.ask("GET", "/presets").json() == []
    answer = house.ask("POST", "/add_preset", json=PRESET)
    assert (answer.status_code, answer.json()) == (200, 1)
    assert house.ask("GET", "/presets").json() == [PRESET]
    changed = PRESET | {"name": "おそい", "pauseLength": None}
    assert house.ask("POST", "/update_preset", json=changed).json() == 1
    assert house.ask("GET", "/presets").json() == [changed]
    answer = house.ask("POST", "/delete_preset", params={"id": 1})
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (204, b"", JSON)
    assert house.ask("GET", "/presets").json() == []


def test_ids_that_are_taken_or_negative_are_made_anew(house: House) -> None:
    given = [house.ask("POST", "/add_preset", json=PRESET | {"id": id_}).json() for id_ in (-1, 1, 7, 7, -5, 0)]
    assert given == [1, 2, 7, 8, 9, 0]
    assert preset_ids(house) == given


def test_unknown_presets(house: House) -> None:
    house.ask("POST", "/add_preset", json=PRESET)
    answer = house.ask("POST", "/update_preset", json=PRESET | {"id": 9999})
    assert (answer.status_code, answer.json()) == (422, {"detail": "更新先のプリセットが存在しません"})
    answer = house.ask("POST", "/delete_preset", params={"id": 9999})
    assert (answer.status_code, answer.json()) == (422, {"detail": "削除対象のプリセットが存在しません"})
    answer = house.ask("POST", "/audio_query_from_preset", params={"text": "犬", "preset_id": 9999})
    assert (answer.status_code, answer.json()) == (422, {"detail": "該当するプリセットIDが見つかりません"})
    assert house.ask("GET", "/presets").json() == [PRESET]


@pytest.mark.parametrize("change", [{"id": 2**31}, {"id": 10**30}, {"speedScale": "fast"}, {"name": None}])
def test_presets_that_are_none(house: House, change: dict[str, Any]) -> None:
    assert house.ask("POST", "/add_preset", json=PRESET | change).status_code == 422
    assert house.ask("POST", "/add_preset", content=b'{"speedScale": NaN}').status_code == 422
    assert preset_ids(house) == []


def test_a_query_from_a_preset(house: House) -> None:
    house.ask("POST", "/add_preset", json=PRESET)
    params = {"text": "犬", "preset_id": 1, "enable_katakana_english": False}
    house.ask("POST", "/audio_query_from_preset", params=params)
    assert house.dispatcher.calls == [
        AudioQueryCall(
            "犬",
            2,
            enable_katakana_english=False,
            values={
                "speed_scale": 2.0,
                "pitch_scale": 0.1,
                "intonation_scale": 1.5,
                "volume_scale": 0.5,
                "pre_phoneme_length": 0.2,
                "post_phoneme_length": 0.3,
                "pause_length": 0.4,
                "pause_length_scale": 0.5,
            },
        )
    ]


def test_a_preset_of_a_voice_that_is_not_here(house: House) -> None:
    house.ask("POST", "/add_preset", json=PRESET | {"style_id": 12345})
    answer = house.ask("POST", "/audio_query_from_preset", params={"text": "犬", "preset_id": 1})
    assert (answer.status_code, answer.json()) == (422, {"message": "指定されたスタイルが見つかりませんでした。"})


def test_the_reference_s_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "presets.yaml").write_text(yaml.safe_dump([PRESET], allow_unicode=True, sort_keys=False))
    fields: dict[str, Any] = FULL_WORD | {"cost": 8609}
    del fields["priority"]
    (tmp_path / "user_dict.json").write_text(json.dumps({KEY: fields}))
    (tmp_path / "setting.yml").write_text("allow_origin: https://a.example https://b.example\ncors_policy_mode: all\n")
    house = House(state_dir=tmp_path)
    assert house.ask("GET", "/presets").json() == [PRESET]
    assert words(house) == {KEY: FULL_WORD | {"surface": "ｔｅｓｔ"}}
    page = house.ask("GET", "/setting").text
    assert 'value="all" checked' in page
    assert 'value="https://a.example https://b.example"' in page


def test_settings(house: House) -> None:
    page = house.ask("GET", "/setting")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'value="localapps" checked' in page.text
    assert "//" not in page.text.replace("https://example.com", "")  # it loads nothing from anywhere
    hostile = '"><script>alert(1)</script>'
    answer = house.ask("POST", "/setting", data={"cors_policy_mode": "all", "allow_origin": hostile})
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (204, b"", JSON)
    stored = yaml.safe_load((house.state_dir / "setting.yml").read_text())
    assert stored == {"allow_origin": hostile, "cors_policy_mode": "all"}
    assert "<script>alert" not in house.ask("GET", "/setting").text
    assert house.ask("POST", "/setting", data={"cors_policy_mode": "localapps"}).status_code == 204
    stored = yaml.safe_load((house.state_dir / "setting.yml").read_text())
    assert stored == {"allow_origin": None, "cors_policy_mode": "localapps"}


def test_settings_that_are_none(house: House) -> None:
    answer = house.ask("POST", "/setting", data={"allow_origin": "a"})
    missing = {"type": "missing", "loc": ["body", "cors_policy_mode"], "msg": "Field required", "input": None}
    assert (answer.status_code, answer.json()) == (422, {"detail": [missing]})
    assert house.ask("POST", "/setting", content=b"cors_policy_mode=%ff").status_code == 422
    assert house.ask("POST", "/setting", content=b"a" * 100_000).status_code == 413
    assert not (house.state_dir / "setting.yml").exists()


CHANGES = [
    ("POST", "/add_preset"),
    ("POST", "/update_preset"),
    ("POST", "/delete_preset"),
    ("POST", "/user_dict_word"),
    ("PUT", f"/user_dict_word/{KEY}"),
    ("DELETE", f"/user_dict_word/{KEY}"),
    ("POST", "/import_user_dict"),
    ("POST", "/setting"),
]


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_what_is_not_mutable_says_so_before_anything_else(tmp_path: Path, method: str, path: str) -> None:
    answer = House(state_dir=tmp_path, mutable=False).ask(method, path)
    assert answer.status_code == 403
    assert answer.json() == {"detail": "エンジンの静的なデータを変更するAPIは無効化されています"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("place", "status"), [("/sys/koegumi", 403), ("/dev/null/koegumi", 500)])
def test_a_place_that_takes_nothing_is_named(place: str, status: int) -> None:
    house = House(state_dir=Path(place))
    answers = [
        (house.ask("POST", "/add_preset", json=PRESET), "presets.yaml"),
        (house.ask("POST", "/user_dict_word", params=WORD), "user_dict.json"),
        (house.ask("POST", "/setting", data={"cors_policy_mode": "all"}), "setting.yml"),
    ]
    for answer, name in answers:
        assert answer.status_code == status
        assert f"{place}/{name}" in answer.json()["detail"]
    assert house.ask("POST", "/audio_query?text=a&speaker=0").status_code == 200
