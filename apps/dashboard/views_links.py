"""Pages of link tests: what was sent, and which hosts and links are slow."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.dashboard import links as page
from apps.dashboard.access import actor, may_operate, operating
from apps.dashboard.log_ranks import squeezed
from apps.nodes import links, links_store
from apps.nodes.links_store import LinkTestInfo


@require_http_methods(["GET", "HEAD", "POST"])
def tests(request: HttpRequest) -> HttpResponse:
    """All tests, newest first, and the form that takes one."""
    if request.method == "POST":
        return _send(request)
    return _list(request)


@require_safe
def test(request: HttpRequest, number: int) -> HttpResponse:
    """One test: the verdict, what stands out, the matrix."""
    info = _known(number)
    hosts, matrix = links_store.matrix(number) or ([], None)
    table = page.table(hosts, matrix, _usual(info)) if matrix is not None else []
    context = {"test": info, "table": table, "hosts": hosts, "usual": _usual(info)}
    return render(request, "links/test.html", context)


@require_safe
def matrix(request: HttpRequest, number: int) -> HttpResponse:
    """The packed matrix of a test."""
    info, found = _known(number), links_store.matrix(number)
    if found is None:
        raise Http404("no such link test")
    body = page.pack(*found, _usual(info))
    answer = HttpResponse(content_type="application/octet-stream")
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        body = squeezed(body)
        answer["Content-Encoding"] = "gzip"
    answer["Vary"] = "Accept-Encoding"
    answer.content = body
    return answer


@operating
def _send(request: HttpRequest) -> HttpResponse:
    try:
        info = links.take(_sent(request), actor(request), now_ns())
    except AppError as error:
        return _list(request, error)
    messages.success(request, "The test is kept.", extra_tags="ok")
    return redirect("link_test", info.id)


def _sent(request: HttpRequest) -> links.Sent:
    """What the form sends: a file, or text that was pasted."""
    text = request.POST.get("text", "").encode()
    upload = request.FILES.get("file")
    if upload is not None and (upload.size or 0) > links.MAX_BODY_BYTES:
        raise AppError(f"a test has at most {links.MAX_BODY_BYTES >> 20} MiB", where="file")
    body = upload.read() if upload is not None else text
    if not body.strip():
        raise AppError("choose a file, or paste the output of a test", where="file")
    ends = (request.POST.get("a", "").strip(), request.POST.get("b", "").strip())
    name = request.POST.get("name", "") or (upload.name or "" if upload is not None else "")
    return links.Sent(body, name[: links.MAX_NAME_CHARS], ends if any(ends) else None)


def _list(request: HttpRequest, error: AppError | None = None) -> HttpResponse:
    context = {
        "tests": links_store.newest(),
        "may_operate": may_operate(request),
        "error": error,
        "form": request.POST,
    }
    return render(request, "links/list.html", context, status=400 if error else 200)


def _known(number: int) -> LinkTestInfo:
    info = links_store.get(number)
    if info is None:
        raise Http404("no such link test")
    return info


def _usual(info: LinkTestInfo) -> float:
    """What a cell is compared with: the median between hosts, else that inside them."""
    verdict = info.verdict
    if verdict.median_gbit_s > 0:
        return verdict.median_gbit_s
    return next((one.gbit_s / one.ratio for one in verdict.inside if one.ratio > 0), 0.0)
