"""The words of the user dictionary: what may be in it, its file (the reference's format), its rows for the compiler."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from koegumi.schema.words import DEFAULT_CONTEXT_ID, MAX_PRIORITY, UserDictWord, WordTypes
from koegumi.state.files import Format, Parsed

Words = Mapping[str, UserDictWord]

DEFAULT_PRIORITY = 5
UUID_LENGTH = 45  # urn:uuid: and 36 letters
_NOUN_RULES = frozenset("* C1 C2 C3 C4 C5".split())
_OTHER_RULES = frozenset("*")


class Kind(NamedTuple):
    """A part of speech: its name and details, MeCab's context id, the rules for its accent, and its costs."""

    part_of_speech: tuple[str, str, str, str]
    context_id: int
    rules: frozenset[str]
    costs: tuple[int, ...]  # by priority, 10 first


KINDS = {
    WordTypes.PROPER_NOUN: Kind(
        ("名詞", "固有名詞", "一般", "*"),
        1348,
        _NOUN_RULES,
        (-988, 3488, 4768, 6048, 7328, 8609, 8734, 8859, 8984, 9110, 14176),
    ),
    WordTypes.COMMON_NOUN: Kind(
        ("名詞", "一般", "*", "*"),
        1345,
        _NOUN_RULES,
        (-4445, 49, 1473, 2897, 4321, 5746, 6554, 7362, 8170, 8979, 15001),
    ),
    WordTypes.VERB: Kind(
        ("動詞", "自立", "*", "*"),
        642,
        _OTHER_RULES,
        (3100, 6160, 6360, 6561, 6761, 6962, 7414, 7866, 8318, 8771, 13433),
    ),
    WordTypes.ADJECTIVE: Kind(
        ("形容詞", "自立", "*", "*"),
        20,
        _OTHER_RULES,
        (1527, 3266, 3561, 3857, 4153, 4449, 5149, 5849, 6549, 7250, 10001),
    ),
    WordTypes.SUFFIX: Kind(
        ("名詞", "接尾", "一般", "*"),
        1358,
        _NOUN_RULES,
        (4399, 5373, 6041, 6710, 7378, 8047, 9440, 10834, 12228, 13622, 15847),
    ),
}
_KIND_OF = {kind.context_id: kind for kind in KINDS.values()}


class WordNotFound(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """There is no word with this UUID."""


class BadWord(Exception):  # noqa: N818
    """A word cannot be in the dictionary; the message says why."""


def new_word(
    surface: str, pronunciation: str, accent_type: int, word_type: WordTypes | None, priority: int | None
) -> UserDictWord:
    """A word as clients add it. Raises pydantic's ValidationError."""
    kind = KINDS[word_type or WordTypes.PROPER_NOUN]
    part, detail_1, detail_2, detail_3 = kind.part_of_speech
    return UserDictWord(
        surface=surface,
        priority=DEFAULT_PRIORITY if priority is None else priority,
        context_id=kind.context_id,
        part_of_speech=part,
        part_of_speech_detail_1=detail_1,
        part_of_speech_detail_2=detail_2,
        part_of_speech_detail_3=detail_3,
        inflectional_type="*",
        inflectional_form="*",
        stem="*",
        yomi=pronunciation,
        pronunciation=pronunciation,
        accent_type=accent_type,
        accent_associative_rule="*",
    )


def added(words: Words, word: UserDictWord) -> tuple[Words, str]:
    """The words with one more, and its UUID."""
    word_uuid = str(uuid.uuid4())
    return {**words, word_uuid: word}, word_uuid


def replaced(words: Words, word_uuid: str, word: UserDictWord) -> Words:
    """Raises WordNotFound."""
    if word_uuid not in words:
        raise WordNotFound(word_uuid)
    return {**words, word_uuid: word}


def removed(words: Words, word_uuid: str) -> Words:
    """Raises WordNotFound."""
    if word_uuid not in words:
        raise WordNotFound(word_uuid)
    return {key: word for key, word in words.items() if key != word_uuid}


def imported(words: Words, others: Words, override: bool) -> Words:
    """The words with all others: where both have one, `override` lets the other win."""
    return {**words, **others} if override else {**others, **words}


def check(word_uuid: str, word: UserDictWord) -> None:
    """What the fields of one word say of each other, and its key. Raises BadWord."""
    if len(word_uuid) > UUID_LENGTH or not _is_uuid(word_uuid):
        raise BadWord(f"{word_uuid[:UUID_LENGTH]!r} is no UUID")
    kind = _KIND_OF.get(word.context_id)
    if kind is None:
        raise BadWord(f"{word_uuid}: no part of speech has the context id {word.context_id}")
    details = (
        word.part_of_speech,
        word.part_of_speech_detail_1,
        word.part_of_speech_detail_2,
        word.part_of_speech_detail_3,
    )
    if details != kind.part_of_speech:
        raise BadWord(f"{word_uuid}: the part of speech of context id {word.context_id} is {kind.part_of_speech}")
    if word.accent_associative_rule not in kind.rules:
        raise BadWord(f"{word_uuid}: {word.accent_associative_rule!r} is no rule for the accent of this part of speech")


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def cost_of(word: UserDictWord) -> int:
    """MeCab's cost of a word that was checked."""
    return _KIND_OF[word.context_id].costs[MAX_PRIORITY - word.priority]


def priority_of(context_id: int, cost: int) -> int:
    """The priority whose cost is nearest. Raises BadWord where no part of speech has the context id."""
    kind = _KIND_OF.get(context_id)
    if kind is None:
        raise BadWord(f"no part of speech has the context id {context_id}")
    distances = [abs(each - cost) for each in kind.costs]
    return MAX_PRIORITY - distances.index(min(distances))


def rows(words: Words) -> bytes:
    """The compiler's input: a line for each word, its fields with commas between; no field holds one, or a quote."""
    return "".join(",".join(_row(word)) + "\n" for word in words.values()).encode()


def _row(word: UserDictWord) -> tuple[str, ...]:
    context_id = str(word.context_id)
    return (
        word.surface,
        context_id,
        context_id,
        str(cost_of(word)),
        word.part_of_speech,
        word.part_of_speech_detail_1,
        word.part_of_speech_detail_2,
        word.part_of_speech_detail_3,
        word.inflectional_type,
        word.inflectional_form,
        word.stem,
        word.yomi,
        word.pronunciation,
        f"{word.accent_type}/{word.mora_count}",
        word.accent_associative_rule,
    )


def _parse(data: bytes) -> Parsed[Words]:
    """Word by word, so that one bad word costs no other, and other threads have their turns."""
    if not data.strip():
        return Parsed({}, "the file is empty")
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Parsed({}, str(error))
    words: dict[str, UserDictWord] = {}
    complaint: str | None = None
    for word_uuid, fields in raw.items():
        try:
            words[word_uuid] = _from_file(word_uuid, msgspec.json.decode(fields))
        except (msgspec.DecodeError, RecursionError, ValidationError, BadWord) as error:
            complaint = complaint or f"{word_uuid}: {error}"
    return Parsed(words, complaint)


def _from_file(word_uuid: str, fields: Any) -> UserDictWord:
    if not isinstance(fields, dict):
        raise BadWord("a word should be an object")
    context_id, cost = fields.get("context_id", DEFAULT_CONTEXT_ID), fields.get("cost")
    if type(context_id) is not int or type(cost) is not int:
        raise BadWord("a word should have a cost and a context id that are integers")
    word = UserDictWord.model_validate({**fields, "priority": priority_of(context_id, cost)})
    check(word_uuid, word)
    return word


def _render(words: Words) -> bytes:
    return msgspec.json.encode({word_uuid: _to_file(word) for word_uuid, word in words.items()})


def _to_file(word: UserDictWord) -> dict[str, object]:
    fields = word.model_dump()
    del fields["priority"]
    return {"surface": fields.pop("surface"), "cost": cost_of(word), **fields}


FORMAT: Format[Words] = Format(_parse, _render, {})
