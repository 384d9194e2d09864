"""A row for each process of a W&B run, and for each synced copy of one."""

from django.db import migrations, models


def composite(*names):
    return models.CompositePrimaryKey(
        *names, blank=True, editable=False, primary_key=True, serialize=False
    )


class Migration(migrations.Migration):
    dependencies = [("ingest", "0006_due_analyses_in_fair_order")]

    operations = [
        migrations.DeleteModel("WandbProcess"),
        migrations.CreateModel(
            name="WandbProcess",
            fields=[
                ("pk", composite("run_id", "attempt", "writer")),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("writer", models.CharField(blank=True, default="", max_length=64)),
                ("said", models.CharField(max_length=64)),
                ("begun", models.BooleanField(default=False)),
                ("heard_ns", models.BigIntegerField()),
                ("writer_id", models.CharField(blank=True, default="", max_length=64)),
                ("node", models.CharField(blank=True, default="", max_length=255)),
                ("root", models.TextField(blank=True, default="")),
                ("exit_code", models.IntegerField(null=True)),
                ("awaits", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("awaits", True)),
                        fields=["run_id"],
                        name="ix_wandb_awaits",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WandbCopy",
            fields=[
                ("pk", composite("run_id", "number")),
                ("run_id", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("said", models.CharField(max_length=64)),
                ("begun_ns", models.BigIntegerField()),
                ("first_lines", models.JSONField(default=dict)),
                ("writer_id", models.CharField(blank=True, default="", max_length=64)),
                ("attempt", models.IntegerField(null=True)),
                ("writer", models.CharField(blank=True, default="", max_length=64)),
                ("own", models.BooleanField(default=False)),
                ("alerts", models.JSONField(default=list)),
            ],
        ),
        migrations.AddField("wandbfile", "first_line", models.BigIntegerField(default=0)),
        migrations.AddField("wandbfile", "origin_ns", models.BigIntegerField(null=True)),
        migrations.AddField("wandbfile", "recent", models.JSONField(default=list)),
    ]
