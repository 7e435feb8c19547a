"""The texts of participants' pages in all languages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from accord.errors import ArgumentError
from accord.serve.messages import Messages, fields, languages, load_messages

SERVE = Path(__file__).parents[2] / "src" / "accord" / "serve"


def texts(language: str) -> dict[str, str]:
    """The texts in the file of a language, by the names of their table and themselves."""
    content = tomllib.loads((SERVE / "languages" / f"{language}.toml").read_text("utf-8"))
    assert content.pop("language") == language
    return {f"{table}.{key}": text for table, own in content.items() for key, text in own.items()}


@pytest.mark.parametrize("language", languages())
def test_every_language_has_every_text(language: str) -> None:
    english, own = texts("en"), texts(language)
    assert own.keys() == english.keys()
    for key, text in own.items():
        assert fields(text) == fields(english[key]), key
        assert text.strip() == text != "", key
        words = re.sub(r"\{.*?\}", "", text)
        if language != "en" and re.search(r"\w", words):
            assert text != english[key] or len(text) < 12, f"{key} is not translated"


def test_there_are_five_languages() -> None:
    assert languages() == ["de", "en", "es", "fr", "zh"]


def test_every_text_is_used_and_every_used_text_exists() -> None:
    sources = [*SERVE.glob("*.py"), *(SERVE / "templates").glob("*")]
    code = "\n".join(path.read_text() for path in sources)
    known = texts("en").keys() - {"language"}
    sections = {key.split(".")[0] for key in known} - {"page", "rules", "errors"}
    for section, name in re.findall(r"""["'](\w+)\.(\w+)["']""", code):
        if section in sections and name not in ("html", "csv"):
            assert f"{section}.{name}" in known
    for key in known:
        section, name = key.split(".")
        assert f'"{key}' in code or f'"{section}." ~' in code or f'f"{section}.' in code or (
            f'{section}." ~ ' in code
        ) or f'"{key.removesuffix("_money")}"' in code, key  # fmt: skip


def test_values_are_escaped() -> None:
    t = Messages({"a.b": "x & {name} <y>"}, "en")
    assert str(t("a.b", name="<b>\x1b")) == "x &amp; &lt;b&gt;␛ &lt;y&gt;"
    assert t.text("a.b", name="<b>") == "x & <b> <y>"


def test_a_translation_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    path.write_text('language = "it"\n[titles]\nact = "Tocca a te"\n')
    t = load_messages(str(path))
    assert (t.language, str(t("titles.act")), str(t("titles.wait"))) == (
        "it", "Tocca a te", "Please wait",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[titles]\nfly = 'x'", "there is no text titles.fly"),
        ("[page]\nround = 'x {round}'", r"names in braces of page.round must be {round}, {rounds}"),
        ("[page]\nround = '{round:>300000000} {rounds}'", "must be {round}, {rounds}"),
        ("[page]\nround = '{round!r} {rounds}'", "must be {round}, {rounds}"),
        ("[page]\nround = 'x {round'", "page.round has a brace without its partner"),
        ("[page", "cannot be read"),
    ],
)
def test_bad_translations(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=message):
        load_messages(str(path))


def test_a_device_is_no_translation(tmp_path: Path) -> None:
    """One that never ends, behind a harmless name."""
    path = tmp_path / "x.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(ArgumentError, match="must be a file, not a device"):
        load_messages(str(path))


def test_unknown_languages() -> None:
    with pytest.raises(ArgumentError, match=r"must be one of .*en.* or the path"):
        load_messages("xx")
    with pytest.raises(ArgumentError, match="cannot be read"):
        load_messages("nowhere.toml")
