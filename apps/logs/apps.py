from django.apps import AppConfig


class LogsConfig(AppConfig):
    name = "apps.logs"
    label = "logs"
