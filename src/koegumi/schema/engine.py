"""What the engine says of itself, and what there is of voice libraries."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType

from koegumi.schema.models import NULL_UNSAID, Model, Speaker, SpeakerInfo

EngineName = TypeAliasType("EngineName", str)
BrandName = TypeAliasType("BrandName", str)
Feature = Annotated[bool | None, NULL_UNSAID]


class UpdateInfo(Model):
    """What a version brought."""

    version: str = Field(description="The version.")
    descriptions: list[str] = Field(description="What is new in it.")
    contributors: Annotated[list[str] | None, NULL_UNSAID] = Field(default=None, description="Who made it.")


class LicenseInfo(Model):
    """The licence of something that runs in this server."""

    name: str = Field(description="What it is.")
    version: Annotated[str | None, NULL_UNSAID] = Field(default=None, description="Its version.")
    license: Annotated[str | None, NULL_UNSAID] = Field(default=None, description="The licence's name.")
    text: str = Field(description="The licence's text.")


class SupportedFeatures(Model):
    """What this engine can do."""

    adjust_mora_pitch: bool = Field(description="Each mora's pitch can be set.")
    adjust_phoneme_length: bool = Field(description="Each phoneme's length can be set.")
    adjust_speed_scale: bool = Field(description="The speed can be set.")
    adjust_pitch_scale: bool = Field(description="The pitch can be set.")
    adjust_intonation_scale: bool = Field(description="The intonation can be set.")
    adjust_volume_scale: bool = Field(description="The volume can be set.")
    adjust_pause_length: Feature = Field(default=None, description="The pauses' length can be set.")
    interrogative_upspeak: bool = Field(description="Questions can end higher.")
    synthesis_morphing: bool = Field(description="Two styles can be morphed.")
    sing: Feature = Field(default=None, description="A loaded voice sings.")
    manage_library: Feature = Field(default=None, description="Voice libraries can be installed.")
    return_resource_url: Feature = Field(default=None, description="Pictures and samples can be given as URLs.")
    apply_katakana_english: Feature = Field(default=None, description="Unknown English words are read as katakana.")


class EngineManifest(Model):
    """What this engine is."""

    manifest_version: str = Field(description="The version of this form.")
    name: EngineName = Field(description="The engine's name.")
    brand_name: BrandName = Field(description="Its brand's name.")
    uuid: str = Field(description="Its UUID.")
    url: str = Field(description="Its address.")
    icon: str = Field(description="Its icon, in base64.")
    default_sampling_rate: int = Field(description="The sampling rate of AudioQueries as they are made, in Hz.")
    frame_rate: float = Field(description="Frames of a second, which lengths are rounded to.")
    terms_of_service: str = Field(description="Terms, in Markdown.")
    update_infos: list[UpdateInfo] = Field(description="What its versions brought.")
    dependency_licenses: list[LicenseInfo] = Field(description="Licences of what runs in it.")
    supported_vvlib_manifest_version: Annotated[str | None, NULL_UNSAID] = Field(
        default=None, description="The form of libraries that it can install."
    )
    supported_features: SupportedFeatures = Field(description="What it can do.")


class MorphableTargetInfo(Model):
    """Whether a style can be the other end of a morphing."""

    is_morphable: bool = Field(description="Whether it can.")


class LibrarySpeaker(Model):
    """A speaker in a library."""

    speaker: Speaker = Field()
    speaker_info: SpeakerInfo = Field()


class BaseLibraryInfo(Model):
    """A voice library."""

    name: str = Field(description="Its name.")
    uuid: str = Field(description="Its UUID.")
    version: str = Field(description="Its version.")
    download_url: str = Field(description="Where it can be downloaded.")
    bytes: int = Field(description="Its size.")
    speakers: list[LibrarySpeaker] = Field(description="Who is in it.")


class DownloadableLibraryInfo(BaseLibraryInfo):
    """A voice library that can be installed."""


class InstalledLibraryInfo(BaseLibraryInfo):
    """A voice library that is installed."""

    uninstallable: bool = Field(description="Whether it can be uninstalled.")


class VvlibManifest(Model):
    """What a file of a library says of itself."""

    manifest_version: str = Field(description="The version of this form.")
    name: str = Field(description="The library's name.")
    version: str = Field(description="Its version.")
    uuid: str = Field(description="Its UUID.")
    brand_name: str = Field(description="The brand of the engine that it is for.")
    engine_name: str = Field(description="That engine's name.")
    engine_uuid: str = Field(description="That engine's UUID.")
