"""`make screenshots` knows the pages there are."""

import pytest
from django.urls import resolve

from apps.dashboard.urls import urlpatterns
from apps.dashboard.views_incident_acts import ACTS
from workers.demo.pictures import PAGES, SHOWN

PARTS = {
    "search_data", "connect_wait", "quarantined_body", "alert_health", "link_matrix", "run_head",
    "run_side", "deck_data", "series_names", "rank_points", "layer_points", "log_lines",
    "log_line", "log_around", "log_news", "log_pulse", "log_matrix", "log_download",
    "incident_export", "audit_export",
}  # fmt: skip
"""Data and fragments of pages."""
NOT_IN_THE_DEMO = {
    "rule", "channel", "evaluation", "order", "storage_root", "link_test", "fault_class",
    "alerts_leave", "hosts_prepare",
}  # fmt: skip
FORMS = {
    "connect_token", "rule_remove", "channel_test", "channel_remove", "delivery_retry",
    "host_mark", "storage_look", "storage_remove", "pin", "deck_pin", "checkpoint_hash",
    "checkpoint_mark", "suite_remove", "evaluation_cancel", "retention_keep", "retention_again",
    "planned_remove", "stop_cancel", "hand_over", "hand_over_again", "order_cancel",
    "order_approve", "member_change", "member_link", "member_active", "member_tokens",
    "member_unlink", "token_revoke", "run_own", "board_view", "chosen_acknowledge",
    "chosen_silence", "chosen_unsilence",
}  # fmt: skip
"""Addresses that change something and show nothing."""


def named(address):
    return resolve(address.format(incident="/incidents/1/", **SHOWN).partition("?")[0]).url_name


@pytest.mark.parametrize("address", PAGES.values())
def test_a_picture_is_of_a_page(address):
    assert named(address)


def test_each_page_of_the_demo_has_one():
    pictured = {named(address) for address in PAGES.values()}
    pages = {one.name for one in urlpatterns} - PARTS - NOT_IN_THE_DEMO - FORMS - set(ACTS)
    assert pictured == pages
