# ruff: noqa: N815 - the names on the wire are VOICEVOX's
"""The wire models of HTTP, with every rule for values that a client sends."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import CoreSchema

from koegumi.schema.phonemes import CONSONANTS, VOWELS

# A pitch is ln Hz: e^10 is the highest that anybody hears, and the reference's mock voices go beyond.
Pitch = Annotated[float, Field(ge=-20, le=20)]
PitchScale = Annotated[float, Field(ge=-2, le=2)]
IntonationScale = Annotated[float, Field(ge=-50, le=50)]
VolumeScale = Annotated[float, Field(ge=0, le=1_000_000)]
Speed = Annotated[float, Field(gt=0)]
Length = Annotated[float, Field(ge=0)]
SamplingRate = Annotated[int, Field(ge=1_000, le=384_000)]
Accent = Annotated[int, Field(ge=-(2**31), lt=2**31)]


def _known_consonant(name: str) -> str:
    if name not in CONSONANTS:
        raise PydanticCustomError("unknown_phoneme", "Input should be a consonant that VOICEVOX knows")
    return name


def _known_vowel(name: str) -> str:
    if name not in VOWELS:
        raise PydanticCustomError("unknown_phoneme", "Input should be a vowel, N, cl or pau")
    return name


class _NullUnsaid:
    """Hides in the document that null may stand for nothing. (pydantic's SkipJsonSchema would do so too, but makes a
    union, whose errors stand two to a field and one step below it.)"""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        (value,) = (option for option in handler(schema)["anyOf"] if option != {"type": "null"})
        return dict(value)


NULL_UNSAID = _NullUnsaid()

Consonant = Annotated[str, AfterValidator(_known_consonant)]
Vowel = Annotated[str, AfterValidator(_known_vowel)]


class Model(BaseModel):
    """Lax as FastAPI is, but for numbers that are none."""

    model_config = ConfigDict(allow_inf_nan=False)


class Mora(Model):
    """A mora: consonant and vowel, their lengths and the pitch."""

    text: str = Field(description="Its kana.")
    consonant: Annotated[Consonant | None, NULL_UNSAID] = Field(default=None, description="The consonant's phoneme.")
    consonant_length: Annotated[Length | None, NULL_UNSAID] = Field(
        default=None, description="The consonant's seconds."
    )
    vowel: Vowel = Field(description="The vowel's phoneme.")
    vowel_length: Length = Field(description="The vowel's seconds.")
    pitch: Pitch = Field(description="ln of the frequency in Hz; 0 where unvoiced.")


class AccentPhrase(Model):
    """Morae that share one accent."""

    moras: list[Mora] = Field(description="Its morae.")
    accent: Accent = Field(description="The mora, from 1, after which the pitch falls.")
    pause_mora: Annotated[Mora | None, NULL_UNSAID] = Field(
        default=None, title="Pause Mora", description="The pause behind it; null for none."
    )
    is_interrogative: bool = Field(default=False, description="Whether it ends a question.")


class AudioQuery(Model):
    """All that a synthesis needs to know."""

    accent_phrases: list[AccentPhrase] = Field(description="What is spoken.")
    speedScale: Speed = Field(description="Speed; 2 halves all lengths.")
    pitchScale: PitchScale = Field(description="Pitch; pitches are multiplied by 2 to its power.")
    intonationScale: IntonationScale = Field(description="Intonation; 0 is monotonous.")
    volumeScale: VolumeScale = Field(description="Volume; what is too loud is clipped.")
    prePhonemeLength: Length = Field(description="Seconds of silence before the speech.")
    postPhonemeLength: Length = Field(description="Seconds of silence after the speech.")
    pauseLength: Length | None = Field(
        default=None, description="Seconds of every pause; null leaves them as they are."
    )
    pauseLengthScale: Length = Field(default=1, description="Factor for every pause.")
    outputSamplingRate: SamplingRate = Field(description="Sampling rate of the sound in Hz.")
    outputStereo: bool = Field(description="Whether the sound has two channels.")
    kana: Annotated[str | None, NULL_UNSAID] = Field(
        default=None,
        description="The text in kana notation, read by nobody; the text itself for voices that have no phrases.",
    )


class ParseKanaBadRequest(Model):
    """Why a text is no kana notation."""

    text: str = Field(description="The message.")
    error_name: str = Field(
        description="One of UNKNOWN_TEXT, ACCENT_TOP, ACCENT_TWICE, ACCENT_NOTFOUND, EMPTY_PHRASE, "
        "INTERROGATION_MARK_NOT_AT_END, INFINITE_LOOP."
    )
    error_args: dict[str, str] = Field(description="Where it went wrong.")


class SpeakerSupportedFeatures(Model):
    """What can be done with a speaker."""

    permitted_synthesis_morphing: Literal["ALL", "SELF_ONLY", "NOTHING"] = Field(
        default="ALL", description="With whom it may be morphed: everybody, its own styles, nobody."
    )
    unsupported_query_fields: Annotated[list[str] | None, NULL_UNSAID] = Field(
        default=None, description="Fields of an AudioQuery that have to be neutral for it; only where there are any."
    )
    synthesis_parameters: Annotated[list[str] | None, NULL_UNSAID] = Field(
        default=None, description="Parameters of /synthesis that only such voices know; where there are any."
    )


class SpeakerStyle(Model):
    """One style of a speaker."""

    name: str = Field(description="Its name.")
    id: int = Field(description="The id that requests give as `speaker`.")
    type: Literal["talk", "singing_teacher", "frame_decode", "sing"] = Field(
        default="talk", description="What it does."
    )


class Speaker(Model):
    """A speaker and its styles."""

    name: str = Field(description="Its name.")
    speaker_uuid: str = Field(description="Its UUID.")
    styles: list[SpeakerStyle] = Field(description="Its styles.")
    version: str = Field(description="Its version.")
    supported_features: SpeakerSupportedFeatures = Field(
        default_factory=SpeakerSupportedFeatures, description="What can be done with it."
    )


class StyleInfo(Model):
    """Pictures and samples of a style, in base64 or as URLs."""

    id: int = Field(description="The style's id.")
    icon: str = Field(description="Its icon.")
    portrait: Annotated[str | None, NULL_UNSAID] = Field(default=None, description="Its own portrait, if it has one.")
    voice_samples: list[str] = Field(description="Its samples.")


class SpeakerInfo(Model):
    """What there is to see, hear and agree to of a speaker."""

    policy: str = Field(description="Licences and credits, in Markdown.")
    portrait: str = Field(description="Its portrait, in base64 or as a URL.")
    style_infos: list[StyleInfo] = Field(description="Its styles.")


class SupportedDevicesInfo(Model):
    """Which devices this server computes on."""

    cpu: bool = Field(description="The CPU.")
    cuda: bool = Field(description="An NVIDIA GPU through CUDA.")
    dml: bool = Field(description="A GPU through DirectML.")
