"""logs.checks"""

from unittest import mock

from apps.logs.checks import taxonomy_is_usable
from apps.logs.domain.triage.classify import BadTaxonomy


def test_the_shipped_taxonomy_passes():
    assert taxonomy_is_usable(None) == []


def test_a_class_without_role_is_an_error_with_a_hint():
    error = BadTaxonomy("class 'a' has role None", where="taxonomy.yaml", hint="use one of cause")
    with mock.patch("apps.logs.checks.taxonomy", autospec=True, side_effect=error):
        (found,) = taxonomy_is_usable(None)
    assert (found.id, found.hint) == ("logs.E001", "use one of cause")
    assert found.msg == "taxonomy.yaml: class 'a' has role None"
