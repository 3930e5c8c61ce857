"""VVM files: what is read of them, and each reason to refuse one."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koegumi import voices_command
from koegumi.voices.catalog import read_catalog
from koegumi.voices.interface import NotPrepared, Places
from koegumi.voices.vvm.container import VvmError
from koegumi.voices.vvm.family import FAMILY, shipped_voice
from koegumi.voices.vvm.inspection import inspect, read_vvm
from koegumi.voices.vvm.signature import NotOnnx, Port, read_signature
from tests import vvm_voice
from tests.harness import CAST
from tests.vvm_voice import STREAMING, TALK, UUIDS, character, members, write_vvm

Change = Callable[[dict[str, bytes]], object]


def _with(name: str, change: Callable[[Any], object]) -> Change:
    """Change a JSON member in place."""

    def apply(files: dict[str, bytes]) -> None:
        value = json.loads(files[name])
        change(value)
        files[name] = json.dumps(value).encode()

    return apply


def _manifest(change: Callable[[Any], object]) -> Change:
    return _with("manifest.json", change)


def _metas(change: Callable[[Any], object]) -> Change:
    return _with("metas.json", change)


def _operation(**values: str) -> Change:
    """Of the model `decode` in the domain talk."""
    return _manifest(lambda m: m["talk"]["decode"].update(values))


def _swapped(model: bytes) -> bytes:
    """The two inputs in the other order."""
    import onnx

    parsed = onnx.load_model_from_string(model)
    inputs = list(reversed([port.SerializeToString() for port in parsed.graph.input]))
    for port, content in zip(parsed.graph.input, inputs, strict=True):
        port.ParseFromString(content)
    return bytes(parsed.SerializeToString())


def _retyped(model: bytes, elem_type: int = 1, rank: int | None = None) -> bytes:
    import onnx

    parsed = onnx.load_model_from_string(model)
    tensor = parsed.graph.output[0].type.tensor_type
    tensor.elem_type = elem_type
    if rank is not None:
        tensor.shape.Clear()
        for _ in range(rank):
            tensor.shape.dim.add()
    return bytes(parsed.SerializeToString())


FAULTS: dict[str, tuple[Change, str]] = {
    "no manifest": (lambda files: files.pop("manifest.json"), "no manifest.json"),
    "broken manifest": (lambda files: files.update({"manifest.json": b"{"}), "manifest.json: "),
    "format 3": (_manifest(lambda m: m.update(vvm_format_version=3)), "format version is 3; 1 and 2 are known"),
    "format true": (_manifest(lambda m: m.update(vvm_format_version="1")), "format version is '1'"),
    "no id": (_manifest(lambda m: m.update(id="x")), "id is no UUID"),
    "no metas": (lambda files: files.pop("metas.json"), "metas.json is missing"),
    "no operation": (_manifest(lambda m: m["talk"].pop("decode")), "talk has no decode"),
    "unknown type": (
        _manifest(lambda m: m["talk"]["decode"].update(type="tf")),
        "talk.decode: Invalid enum value 'tf'",
    ),
    "encrypted": (
        _manifest(lambda m: m["talk"]["decode"].update(type="vv_bin")),
        "encrypted for VOICEVOX's own runtime",
    ),
    "no domain": (_manifest(lambda m: m.pop("singing_teacher")), "there are no models for singing_teacher"),
    "bad inner id": (_manifest(lambda m: m["talk"].update(style_id_to_inner_voice_id={"x": 1})), "no number"),
    "stream in 1": (_manifest(lambda m: m.update(vvm_format_version=1)), "format version 2 brought"),
    "style twice": (_metas(lambda m: m[1]["styles"].append(m[0]["styles"][0])), "style id 201 is there twice"),
    "unknown kind": (
        _metas(lambda m: m[0]["styles"][0].update(type="shout")),
        "metas.json: Invalid enum value 'shout'",
    ),
    "negative id": (_metas(lambda m: m[0]["styles"][0].update(id=-1)), "style id -1 is no number"),
    "no style": (_metas(lambda m: m.clear()), "names no style"),
    "no model": (lambda files: files.pop("decode.onnx"), "decode.onnx is missing"),
    "no ONNX": (lambda files: files.update({"decode.onnx": b"junk"}), "decode.onnx) is no ONNX model"),
    "cut short": (lambda files: files.update({"decode.onnx": files["decode.onnx"][:-9]}), "is no ONNX model"),
    "order": (
        lambda files: files.update({"predict_duration.onnx": _swapped(files["predict_duration.onnx"])}),
        "inputs are speaker_id int64[_], phoneme_list int64[_], and should be phoneme_list",
    ),
    "dtype": (
        lambda files: files.update({"decode.onnx": _retyped(files["decode.onnx"], elem_type=11)}),
        "outputs are wave float64[_], and should be wave float32[_]",
    ),
    "rank": (
        lambda files: files.update({"decode.onnx": _retyped(files["decode.onnx"], rank=2)}),
        "outputs are wave float32[_,_], and should be wave float32[_]",
    ),
    "bomb": (lambda files: files.update({"decode.onnx": bytes(3_000_000)}), "which no voice does"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_refused_by_name_and_the_rest_speaks(fault: str, tmp_path: Path) -> None:
    change, sentence = FAULTS[fault]
    files = members()
    change(files)
    bad = write_vvm(tmp_path / "bad.vvm", files)
    other = members(("talk",), (character(0, {1: "talk"}),))
    good = write_vvm(tmp_path / "good.vvm", other)
    refused: list[str] = []
    catalog = read_catalog(Places(tmp_path, (bad, good), refuse=refused.append))
    assert list(catalog.styles) == [1]
    assert len(refused) == 1 and sentence in refused[0] and str(bad) in refused[0]


def test_broken_zip_files_are_refused(tmp_path: Path) -> None:
    whole = write_vvm(tmp_path / "whole.vvm").read_bytes()
    for number, content in enumerate((b"", b"PK\3\4junk", whole[:-100], whole[:500] + bytes(200) + whole[700:])):
        path = tmp_path / f"{number}.vvm"
        path.write_bytes(content)
        with pytest.raises(VvmError):
            read_vvm(path)


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    (tmp_path / "secret.onnx").write_bytes(vvm_voice.model("decode"))
    files = members(("talk",), (character(0, {TALK: "talk"}),))
    _operation(filename="../secret.onnx")(files)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    assert inspect(folder).complaints == ("talk.decode cannot be used: '../secret.onnx' leads out of the folder",)


def test_a_folder_is_as_its_zip_file(tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    for name, content in members().items():
        (folder / name).write_bytes(content)
    zipped = write_vvm(tmp_path / "zipped.vvm")
    one, other = (read_catalog(Places(tmp_path, (path,))) for path in (folder, zipped))
    assert list(one.styles) == list(other.styles) == [201, 203, 204, 202, 205]
    assert len(read_catalog(Places(tmp_path, (tmp_path,))).styles) == 5  # the one that lies in it


def test_characters_are_merged_and_ordered(tmp_path: Path) -> None:
    first = character(0, {1: "talk"}, order=7)
    second = character(1, {2: "talk"}, order=1)
    more = character(0, {4: "talk", 3: "talk"}, name="other")
    more["styles"][0]["order"], more["styles"][1]["order"] = 2, 1
    a = write_vvm(tmp_path / "a.vvm", members(("talk",), (first, second)))
    b = write_vvm(tmp_path / "b.vvm", members(("talk",), (more,), version=1))
    speakers = FAMILY.find(Places(tmp_path, (a, b)))
    assert [(one.name, one.uuid) for one in speakers] == [("sine 2", UUIDS[1]), ("sine 1", UUIDS[0])]
    assert [(style.id, style.source) for style in speakers[1].styles] == [(3, b), (4, b), (1, a)]


def test_a_style_id_twice_names_both_files(tmp_path: Path) -> None:
    a, b = write_vvm(tmp_path / "a.vvm"), write_vvm(tmp_path / "b.vvm")
    refused: list[str] = []
    catalog = read_catalog(Places(tmp_path, (a, b), refuse=refused.append))
    assert len(catalog.styles) == 5
    assert refused == [f"{b}: style id 201 is also in {a}"]


def test_a_style_id_of_another_family_is_refused_too(tmp_path: Path) -> None:
    file = write_vvm(tmp_path / "a.vvm", members(("talk",), (character(0, {0: "talk"}), character(1, {50: "talk"}))))
    refused: list[str] = []
    catalog = read_catalog(Places(tmp_path, (CAST, file), refuse=refused.append))
    assert 50 in catalog.styles and catalog.style(0).family.name == "cast"
    assert refused == [f"sine 1 ({file}) has the style id 0 of dummy1"]


def test_named_voices_speak_alone_and_others_do_not_hide_each_other(tmp_path: Path) -> None:
    named = write_vvm(tmp_path / "named.vvm", members(("talk",), (character(0, {1: "talk"}),)))
    library = tmp_path / "libraries" / "6f1f0f35"
    library.mkdir(parents=True)
    write_vvm(library / "1.vvm", members(("talk",), (character(1, {2002: "talk"}),)))
    (library / "family.py").write_text("raise SystemExit('code of a library ran')")
    assert list(read_catalog(Places(tmp_path, (named,))).styles) == [1]
    both = read_catalog(Places(tmp_path, (named,), library_dir=library.parent))
    assert list(both.styles) == [1, 2002]
    unnamed = read_catalog(Places(tmp_path / "empty", library_dir=library.parent))
    assert 2002 in unnamed.styles and any("Kokoro" in sentence for sentence in unnamed.missing)
    assert (101 in unnamed.styles) == shipped_voice().is_file()


def test_a_place_without_voices_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotPrepared, match="nowhere holds no voice"):
        read_catalog(Places(tmp_path, (tmp_path / "nowhere",)))
    with pytest.raises(NotPrepared, match=r"gone\.vvm: it cannot be opened"):
        read_catalog(Places(tmp_path, (tmp_path / "gone.vvm",)))


def test_pictures_terms_and_samples_come_from_the_file(tmp_path: Path) -> None:
    info = f"character_info/{UUIDS[0]}"
    files = members(("talk",), (character(0, {TALK: "talk"}), character(1, {STREAMING: "talk"})))
    files |= {
        f"{info}/policy.md": "# 規約".encode(),
        f"{info}/portrait.png": b"portrait",
        f"{info}/icons/{TALK}.png": b"icon",
        f"{info}/voice_samples/{TALK}_002.wav": b"sample",
        f"{info}/metas.json": b'{"supported_features": {"permitted_synthesis_morphing": "SELF_ONLY"}}',
    }
    first, second = FAMILY.find(Places(tmp_path, (write_vvm(tmp_path / "a.vvm", files),)))
    shown = first.styles[0].files
    assert (first.policy, first.portrait.read_bytes(), first.portrait.name) == ("# 規約", b"portrait", "portrait.png")
    assert (shown.icon.read_bytes(), [file.read_bytes() for file in shown.samples]) == (b"icon", [b"sample"])
    assert first.supported_features == {"permitted_synthesis_morphing": "SELF_ONLY"}
    assert second.portrait.read_bytes()[:4] == b"\x89PNG" and "does not tell its terms" in second.policy


def test_signatures_are_those_that_the_onnx_library_reads() -> None:
    signature = read_signature(vvm_voice.model("predict_intonation"))
    assert signature.inputs[0] == Port("length", "int64", 0)
    assert [port.name for port in signature.inputs][-1] == "speaker_id"
    assert signature.outputs == (Port("f0_list", "float32", 1),)


@given(st.data())
def test_no_bytes_do_more_than_be_refused(data: st.DataObject) -> None:
    model = bytearray(vvm_voice.model("predict_duration"))
    for _ in range(data.draw(st.integers(1, 4))):
        model[data.draw(st.integers(0, len(model) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(NotOnnx):
        read_signature(bytes(model))


def test_check_explains_and_its_exit_code_judges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: Path
) -> None:
    assert voices_command.check([write_vvm(tmp_path / "good.vvm")]) == 0
    assert "style 205: style 205, sing" in capsys.readouterr().out
    files = members()
    _operation(type="vv_bin")(files)
    assert voices_command.check([write_vvm(tmp_path / "bin.vvm", files)]) == 1
    assert "decode.onnx (vv_bin), WRONG" in capsys.readouterr().out
    assert voices_command.check([reference / "voicevox_sample_vvm"]) == 1
    assert "WRONG: talk.decode cannot be used: decode.onnx is missing" in capsys.readouterr().out
    # Right by its form, and yet nothing that runs.
    files = members() | {"predict_duration.onnx": vvm_voice.model("predict_duration").replace(b"Cast", b"Cost")}
    assert voices_command.check([write_vvm(tmp_path / "odd.vvm", files)]) == 1
    assert "predict_duration.onnx of odd.vvm cannot be loaded" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    assert voices_command.check([tmp_path / "empty.zip", tmp_path / "gone"]) == 1
