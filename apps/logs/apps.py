from django.apps import AppConfig


class LogsConfig(AppConfig):
    name = "apps.logs"
    label = "logs"

    def ready(self) -> None:
        """Register the start-up checks."""
        from apps.logs import checks  # noqa: F401
