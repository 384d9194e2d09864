import gzip
from pathlib import Path

PLOTLY = "vendor/plotly-basic-4.1.1/plotly-basic.min.js"
ROOT = Path(__file__).parents[2] / "static"


def test_charts_are_a_third_on_the_wire_and_the_same_when_unpacked(client):
    for _ in range(2):
        answer = client.get(f"/static/{PLOTLY}", headers={"Accept-Encoding": "gzip, br"})
        assert answer["Content-Encoding"] == "gzip"
        assert answer["Vary"] == "Accept-Encoding"
        assert int(answer["Content-Length"]) == len(answer.content) < 550_000
        assert gzip.decompress(answer.content) == (ROOT / PLOTLY).read_bytes()


def test_who_takes_no_gzip_gets_the_file_as_it_is(client):
    answer = client.head("/static/js/deck.js")
    assert "Content-Encoding" not in answer
    assert int(answer["Content-Length"]) == (ROOT / "js/deck.js").stat().st_size


def test_who_has_the_file_gets_no_body(client):
    gzip_too = {"Accept-Encoding": "gzip"}
    headers = {
        **gzip_too,
        "If-None-Match": client.get("/static/js/deck.js", headers=gzip_too)["ETag"],
    }
    assert client.get("/static/js/deck.js", headers=headers).status_code == 304


def test_what_a_phone_installs_is_sent_as_what_it_is(client):
    answer = client.head("/static/manifest.webmanifest")
    assert answer["Content-Type"] == "application/manifest+json"
