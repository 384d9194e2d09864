import django.contrib.postgres.fields
from django.db import migrations, models

import apps.core.sql


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE logs_source_id", reverse_sql="DROP SEQUENCE logs_source_id"
        ),
        migrations.RunSQL(
            "CREATE SEQUENCE logs_chunk_id", reverse_sql="DROP SEQUENCE logs_chunk_id"
        ),
        migrations.CreateModel(
            name="Gap",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "source_id",
                        "start_offset",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("source_id", models.BigIntegerField()),
                ("start_offset", models.BigIntegerField()),
                ("end_offset", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="RankLog",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "node",
                        "slot",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("node", models.CharField(max_length=253)),
                ("slot", models.CharField(max_length=20)),
                ("rank", models.IntegerField(null=True)),
                ("local_rank", models.IntegerField(null=True)),
                ("pid", models.BigIntegerField(null=True)),
                ("world_size", models.IntegerField(null=True)),
                ("lines", models.BigIntegerField()),
                ("copies", models.BigIntegerField()),
                ("worst_severity", models.SmallIntegerField()),
                ("last_ns", models.BigIntegerField(null=True)),
                ("last_text", models.TextField()),
                ("last_step", models.BigIntegerField(null=True)),
                ("progress_ns", models.BigIntegerField(null=True)),
                ("progress_source", models.TextField()),
                ("progress_seq", models.BigIntegerField()),
                ("pace_ns", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "chunk_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                (
                    "chunk_id",
                    models.BigIntegerField(db_default=apps.core.sql.NextVal("logs_chunk_id")),
                ),
                ("attempt", models.IntegerField()),
                ("node", models.CharField(max_length=253)),
                ("batch_id", models.CharField(max_length=128)),
                ("first_ns", models.BigIntegerField()),
                ("first_rank", models.IntegerField()),
                ("first_seq", models.BigIntegerField()),
                ("last_ns", models.BigIntegerField()),
                ("last_rank", models.IntegerField()),
                ("last_seq", models.BigIntegerField()),
                ("lines", models.IntegerField()),
                ("copies", models.IntegerField()),
                ("debug", models.IntegerField()),
                ("info", models.IntegerField()),
                ("warning", models.IntegerField()),
                ("error", models.IntegerField()),
                ("critical", models.IntegerField()),
                (
                    "ranks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("text_bytes", models.BigIntegerField()),
                ("body", models.BinaryField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run_id", "attempt", "first_ns"], name="ix_chunk_first"),
                    models.Index(fields=["run_id", "attempt", "last_ns"], name="ix_chunk_last"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "source_id",
                        "seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("source_id", models.BigIntegerField()),
                ("seq", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("node", models.CharField(max_length=253)),
                ("channel", models.CharField(max_length=20)),
                ("time_ns", models.BigIntegerField()),
                ("local_rank", models.IntegerField(null=True)),
                ("rank", models.IntegerField(null=True)),
                ("severity", models.SmallIntegerField()),
                ("step", models.BigIntegerField(null=True)),
                ("fault_class", models.CharField(max_length=60, null=True)),
                ("message_at", models.IntegerField()),
                ("text", models.TextField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run_id", "attempt", "time_ns"], name="ix_event_time")
                ],
            },
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "source_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                (
                    "source_id",
                    models.BigIntegerField(db_default=apps.core.sql.NextVal("logs_source_id")),
                ),
                ("attempt", models.IntegerField()),
                ("node", models.CharField(max_length=253)),
                ("name", models.TextField()),
                ("generation", models.IntegerField()),
                ("channel", models.CharField(max_length=20)),
                ("local_rank", models.IntegerField(null=True)),
                ("end_offset", models.BigIntegerField(default=0)),
                ("lines", models.BigIntegerField(default=0)),
                ("skipped_lines", models.BigIntegerField(default=0)),
                ("last_ns", models.BigIntegerField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run_id", "attempt", "node", "name", "generation"),
                        name="logs_source_is_one_file",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Triage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("dirty", models.BooleanField(default=True)),
                ("waiting_since_ns", models.BigIntegerField(null=True)),
                ("confirmed_ns", models.BigIntegerField(null=True)),
                ("changed_ns", models.BigIntegerField(null=True)),
                ("look_again_ns", models.BigIntegerField(null=True)),
                ("fingerprint", models.CharField(default="", max_length=64)),
                ("settled", models.BooleanField(default=False)),
                ("taxonomy_version", models.IntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("look_again_ns__isnull", False)),
                        fields=["look_again_ns"],
                        name="ix_triage_open",
                    )
                ],
            },
        ),
        # Bodies are compressed already: keep Postgres from trying again.
        migrations.RunSQL(
            "ALTER TABLE logs_chunk ALTER COLUMN body SET STORAGE EXTERNAL",
            reverse_sql="ALTER TABLE logs_chunk ALTER COLUMN body SET STORAGE EXTENDED",
        ),
    ]
