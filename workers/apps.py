from django.apps import AppConfig


class WorkersConfig(AppConfig):
    name = "workers"
    label = "workers"

    def ready(self) -> None:
        """Make our Celery app the one that `apps.core.queue` sends to, in every process."""
        from workers import celery  # noqa: F401
