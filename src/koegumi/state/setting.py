"""The settings that the setting page changes: their file, in the reference's format."""

from __future__ import annotations

import yaml

from koegumi.schema.stored import Setting
from koegumi.state.files import Format, Parsed


def _parse(data: bytes) -> Parsed[Setting]:
    try:
        raw = yaml.load(data, yaml.CSafeLoader)
        return Parsed(Setting.model_validate({} if raw is None else raw))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        return Parsed(Setting(), str(error))


def _render(setting: Setting) -> bytes:
    fields = {"allow_origin": setting.allow_origin, "cors_policy_mode": setting.cors_policy_mode.value}
    return yaml.dump(fields, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False, encoding="utf-8")


FORMAT = Format(_parse, _render, Setting())
