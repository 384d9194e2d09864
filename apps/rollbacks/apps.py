from django.apps import AppConfig


class RollbacksConfig(AppConfig):
    name = "apps.rollbacks"
    label = "rollbacks"
