"""The real web server: a body without a Content-Length is refused, not answered and lost."""

import httpx

from tests.factories import metric_body


def test_it_is_refused_with_what_to_do(stack):
    answer = httpx.post(
        f"{stack.url}/api/v1/runs/chunked/metrics",
        content=iter([metric_body({1: 2.5})]),
        headers={"Authorization": f"Bearer {stack.token}"},
    )
    assert (answer.status_code, answer.json()["hint"]) == (411, "send no chunks")
