"""dashboard.help: the glossary of the docs, read as a table."""

from pathlib import Path

from apps.dashboard.help import Term, terms

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_a_row_is_a_word_without_marks():
    table = (
        "| word | meaning | what others say |\n|---|---|---|\n| rank | a *global* index | `RANK` |"
    )
    assert terms(table) == [Term("rank", "a global index", "RANK")]


def test_what_others_have_no_word_for_is_left_empty():
    assert terms("| term | one thing | \N{EN DASH} |")[0].others == ""


def test_text_around_the_table_is_no_word():
    assert terms("# Glossary\n\nOne word per thing.\n| two | cells |\n") == []


def test_no_row_of_the_glossary_is_lost():
    rows = [line for line in GLOSSARY.splitlines() if line.startswith("| ")]
    found = terms(GLOSSARY)
    assert len(found) == len(rows) - 1 > 60
    assert {"run", "attempt", "orphan", "glance"} <= {term.word for term in found}
