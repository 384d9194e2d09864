from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Coalesce, NullIf


class Migration(migrations.Migration):
    # The index is built beside the writers.
    atomic = False
    dependencies = [("runs", "0007_where_a_host_took_part")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="started_by",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="run",
            name="owner",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        AddIndexConcurrently(
            model_name="run",
            index=models.Index(
                Coalesce(NullIf("owner", models.Value("")), "started_by"), "id", name="ix_run_owner"
            ),
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "person",
                        "name",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("person", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=600)),
                ("saved_at_ns", models.BigIntegerField()),
            ],
        ),
    ]
