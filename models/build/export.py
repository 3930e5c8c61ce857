"""Trained networks to ONNX files: `python -m models.build.export SPEECH PROSODY NOISE DECODE.pt PROSODY.pt OUT`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from statistics import median

import numpy as np
import onnx
import torch
from models.build.frames_data import VOWELS, load
from models.build.network import PHONEMES, VOICES, Acoustic, Spectrogram
from models.build.predictors import Durations, Intonation, PredictDuration, PredictIntonation
from models.build.song import FRAMES_A_SECOND, SfDecode, SingConsonantLength, SingF0, SingVolume
from models.build.sound import Sound
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

OPSET = 17
# Weights of more values than this are kept in half precision.
LARGE = 1000
HIGHEST_LN_HZ = 8.6


class GenerateFullIntermediate(nn.Module):
    """ln Hz [T, 1] (0: unvoiced), phonemes one of 45 [T, 45] -> [T, 80]."""

    def __init__(self, spectrogram: Spectrogram) -> None:
        super().__init__()
        self.spectrogram = spectrogram

    def forward(self, f0: Tensor, phoneme: Tensor, speaker_id: Tensor) -> Tensor:
        pitch = f0.squeeze(1)
        hertz = torch.where(pitch > 0, torch.exp(pitch.clamp(max=HIGHEST_LN_HZ)), torch.zeros_like(pitch))
        return self.spectrogram(hertz, torch.argmax(phoneme, 1), speaker_id)


class Decode(nn.Module):
    """Both halves: what streams and what does not is one sound."""

    def __init__(self, first: GenerateFullIntermediate, second: Sound) -> None:
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, f0: Tensor, phoneme: Tensor, speaker_id: Tensor) -> Tensor:
        return self.second(self.first(f0, phoneme, speaker_id))


def export(module: nn.Module, inputs: dict[str, Tensor], output: str, axes: dict[str, int], target: Path) -> None:
    """`axes`: the axis that grows, by tensor."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            str(target),
            input_names=list(inputs),
            output_names=[output],
            dynamic_axes={name: {axis: f"{name}_length"} for name, axis in axes.items()},
            opset_version=OPSET,
            do_constant_folding=False,
            dynamo=False,
        )
    model = onnx.load(str(target))
    halve(model.graph)
    for value in (*model.graph.input, *model.graph.output):
        shown = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(shown):
            if value.name in axes and axes[value.name] == axis and not dim.dim_param:
                dim.dim_param = f"{value.name}_length"
    onnx.checker.check_model(model)
    onnx.save(model, str(target))


def halve(graph: onnx.GraphProto) -> None:
    """Large float weights in half precision, with a Cast behind each."""
    for weight in list(graph.initializer):
        if weight.data_type != TensorProto.FLOAT or int(np.prod(weight.dims)) < LARGE:
            continue
        name = weight.name
        array = numpy_helper.to_array(weight).astype(np.float16)
        graph.initializer.remove(weight)
        graph.initializer.append(numpy_helper.from_array(array, f"{name}_half"))
        graph.node.insert(0, helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))


def vowel_levels(folder: Path, shape: Tensor) -> Tensor:
    """RMS of each voice's vowels as the teacher speaks them."""
    found: list[list[float]] = [[] for _ in range(VOICES)]
    for each in load(folder, "train"):
        keep = np.isin(each.labels, VOWELS) & (each.hertz > 0) & (each.level > -6)
        power = np.exp(2 * each.envelope[keep] @ shape.numpy()).mean(1)
        found[each.voice] += np.sqrt(power).tolist()
    return torch.tensor([median(values) for values in found])


def consonant_frames(file: Path) -> Tensor:
    """Median frames of each consonant of each voice, in talk; 0 in the last column, for no consonant."""
    found: dict[tuple[int, int], list[float]] = {}
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["part"] == "train":
            for phoneme, length in zip(row["phoneme"], row["length"], strict=True):
                found.setdefault((row["voice"], int(phoneme)), []).append(length)
    table = torch.zeros(VOICES, PHONEMES + 1, dtype=torch.int64)
    for (voice, phoneme), lengths in found.items():
        table[voice, phoneme] = max(1, round(median(lengths) * FRAMES_A_SECOND))
    return table


def main() -> None:
    speech, prosody, noise, decode_file, prosody_file, out = map(Path, sys.argv[1:7])
    out.mkdir(parents=True, exist_ok=True)
    acoustic, duration, intonation = Acoustic(), Durations(), Intonation()
    acoustic.load_state_dict(torch.load(decode_file)["network"])
    trained = torch.load(prosody_file)
    duration.load_state_dict(trained["Durations"])
    intonation.load_state_dict(trained["Intonation"])
    spectrogram, sound = Spectrogram(acoustic), Sound(np.load(noise))
    levels = vowel_levels(speech, sound.shape)

    voice = torch.tensor([1])
    ids = torch.tensor([0] * 8 + [23] * 6 + [7] * 20 + [30] * 8 + [0] * 8)
    hertz = torch.where(ids > 0, 220.0, 0.0)
    notes = torch.where(ids > 0, 60, -1)
    frames = {
        "f0": torch.where(ids > 0, 5.4, 0.0).unsqueeze(1),
        "phoneme": nn.functional.one_hot(ids, PHONEMES).float(),
        "speaker_id": voice,
    }
    tall = {"f0": 0, "phoneme": 0}
    first = GenerateFullIntermediate(spectrogram)
    export(Decode(first, sound), frames, "wave", {**tall, "wave": 0}, out / "decode.onnx")
    export(first, frames, "spec", {**tall, "spec": 0}, out / "predict_spectrogram.onnx")
    spec = first.eval()(**frames).detach()
    export(sound, {"spec": spec}, "wave", {"spec": 0, "wave": 0}, out / "vocoder.onnx")

    numbers = torch.tensor([0, 23, 7, 30, 0])
    export(
        PredictDuration(duration),
        {"phoneme_list": numbers, "speaker_id": voice},
        "phoneme_length",
        {"phoneme_list": 0, "phoneme_length": 0},
        out / "predict_duration.onnx",
    )
    lists = {
        "vowel_phoneme_list": torch.tensor([0, 7, 30, 0]),
        "consonant_phoneme_list": torch.tensor([-1, 23, -1, -1]),
        "start_accent_list": torch.tensor([0, 1, 0, 0]),
        "end_accent_list": torch.tensor([0, 0, 1, 0]),
        "start_accent_phrase_list": torch.tensor([0, 1, 0, 0]),
        "end_accent_phrase_list": torch.tensor([0, 0, 1, 0]),
    }
    export(
        PredictIntonation(intonation),
        {"length": torch.tensor(4), **lists, "speaker_id": voice},
        "f0_list",
        {**dict.fromkeys(lists, 0), "f0_list": 0},
        out / "predict_intonation.onnx",
    )

    sung = {"phonemes": ids.unsqueeze(0), "notes": notes.unsqueeze(0)}
    wide = dict.fromkeys(sung, 1)
    note_lists = {
        "consonants": torch.tensor([[-1, 23, -1]]),
        "vowels": torch.tensor([[0, 7, 0]]),
        "note_durations": torch.tensor([[10, 30, 10]]),
    }
    export(
        SingConsonantLength(consonant_frames(prosody)),
        {**note_lists, "speaker_id": voice},
        "consonant_lengths",
        {**dict.fromkeys(note_lists, 1), "consonant_lengths": 1},
        out / "predict_sing_consonant_length.onnx",
    )
    export(SingF0(), {**sung, "speaker_id": voice}, "f0s", {**wide, "f0s": 1}, out / "predict_sing_f0.onnx")
    export(
        SingVolume(levels),
        {**sung, "frame_f0s": hertz.unsqueeze(0), "speaker_id": voice},
        "volumes",
        {**wide, "frame_f0s": 1, "volumes": 1},
        out / "predict_sing_volume.onnx",
    )
    song = {
        "frame_phonemes": ids.unsqueeze(0),
        "frame_f0s": hertz.unsqueeze(0),
        "frame_volumes": torch.full_like(hertz, 0.1).unsqueeze(0),
    }
    export(
        SfDecode(spectrogram, sound, levels),
        {**song, "speaker_id": voice},
        "wav",
        {**dict.fromkeys(song, 1), "wav": 1},
        out / "sf_decode.onnx",
    )


if __name__ == "__main__":
    main()
