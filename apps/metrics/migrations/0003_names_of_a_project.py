from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    """What people said about the metric names of a project."""

    dependencies = [("metrics", "0002_fresh_notes_have_an_end")]

    operations = [
        migrations.CreateModel(
            name="ProjectNames",
            fields=[
                ("project", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("roles", models.JSONField()),
                ("rules", models.JSONField()),
                ("watched", ArrayField(models.TextField())),
                ("version", models.IntegerField()),
                ("changed_at_ns", models.BigIntegerField()),
                ("changed_by", models.CharField(max_length=200)),
            ],
        ),
    ]
