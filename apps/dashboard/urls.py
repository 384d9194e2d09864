"""Pages."""

from django.urls import path

from apps.dashboard import (
    views,
    views_detectors,
    views_incident,
    views_incident_acts,
    views_kept,
    views_labels,
    views_logs,
    views_names,
    views_patterns,
    views_planned,
    views_rollback,
    views_run,
    views_stop,
)

urlpatterns = [
    path("", views.runs, name="runs"),
    path("ingest/", views.ingest, name="ingest"),
    path("ingest/quarantine/<int:number>", views.quarantined_body, name="quarantined_body"),
    path("ingest/labels/", views_labels.labels, name="labels"),
    path("audit/", views.audit, name="audit"),
    path("incidents/", views_incident.incidents, name="incidents"),
    path("incidents/<int:number>/", views_incident.incident, name="incident"),
    *(
        path(f"incidents/<int:number>/{what}/", views_incident_acts.act, {"what": what}, name=what)
        for what in views_incident_acts.ACTS
    ),
    path(
        "incidents/<int:number>/export.<str:form>",
        views_incident.export,
        name="incident_export",
    ),
    path("projects/<path:project>/names/", views_names.names, name="names"),
    path("projects/<path:project>/detectors/", views_detectors.detectors, name="detectors"),
    path("projects/<path:project>/kept-logs/", views_kept.kept, name="kept"),
    path("runs/<str:key>/attempts/<int:attempt>/pin/", views_kept.pin, name="pin"),
    path("runs/<str:key>/", views_run.run, name="run"),
    path("runs/<str:key>/head/", views_run.head, name="run_head"),
    path("runs/<str:key>/side/", views_run.side, name="run_side"),
    path("runs/<str:key>/deck.json", views_run.deck_data, name="deck_data"),
    path("runs/<str:key>/series/", views_run.series, name="series"),
    path("runs/<str:key>/layers/", views_run.layers, name="layers"),
    path("runs/<str:key>/logs/", views_logs.logs, name="logs"),
    path("runs/<str:key>/logs/ranks/", views_logs.ranks, name="log_ranks"),
    path("runs/<str:key>/logs/patterns/", views_patterns.patterns, name="log_patterns"),
    path("runs/<str:key>/logs/lines", views_logs.lines, name="log_lines"),
    path("runs/<str:key>/logs/line", views_logs.line, name="log_line"),
    path("runs/<str:key>/logs/around", views_logs.around, name="log_around"),
    path("runs/<str:key>/logs/news", views_logs.news, name="log_news"),
    path("runs/<str:key>/logs/pulse", views_logs.pulse, name="log_pulse"),
    path("runs/<str:key>/logs/matrix", views_logs.matrix, name="log_matrix"),
    path("runs/<str:key>/logs/download", views_logs.download, name="log_download"),
    path("runs/<str:key>/attempts/", views_run.attempts, name="attempts"),
    path("runs/<str:key>/checkpoints/", views_run.checkpoints, name="checkpoints"),
    path("runs/<str:key>/planned/", views_planned.planned, name="planned"),
    path(
        "runs/<str:key>/planned/<int:number>/remove/",
        views_planned.remove,
        name="planned_remove",
    ),
    path("runs/<str:key>/stop/", views_stop.stop, name="stop"),
    path("runs/<str:key>/stops/<int:number>/cancel/", views_stop.cancel, name="stop_cancel"),
    path("runs/<str:key>/rollback/", views_rollback.rollback, name="rollback"),
    path("runs/<str:key>/orders/<int:number>/", views_rollback.order, name="order"),
    path("runs/<str:key>/orders/<int:number>/cancel/", views_rollback.cancel, name="order_cancel"),
]
