from django.apps import AppConfig


class RollbacksConfig(AppConfig):
    name = "apps.rollbacks"
    label = "rollbacks"

    def ready(self) -> None:
        """Register the start-up checks."""
        from apps.rollbacks import checks  # noqa: F401
