from django.db import migrations, models

import apps.core.sql


class Migration(migrations.Migration):
    dependencies = [
        ("logs", "0009_what_a_project_keeps"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE logs_tally_id", reverse_sql="DROP SEQUENCE logs_tally_id"
        ),
        migrations.CreateModel(
            name="JudgedAttempt",
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
            ],
        ),
        migrations.CreateModel(
            name="Template",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "template_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("template_id", models.BigIntegerField()),
                ("text", models.TextField()),
                ("example", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="TemplateTally",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "tally_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                (
                    "tally_id",
                    models.BigIntegerField(db_default=apps.core.sql.NextVal("logs_tally_id")),
                ),
                ("level", models.SmallIntegerField()),
                ("first_hour", models.IntegerField()),
                ("last_hour", models.IntegerField()),
                ("body", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="OrdinaryTemplate",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project",
                        "template_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("project", models.CharField(max_length=200)),
                ("template_id", models.BigIntegerField()),
                ("attempts", models.IntegerField()),
                ("last_run_id", models.BigIntegerField()),
                ("last_ns", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["project", "last_ns"], name="ix_ordinary_age")],
            },
        ),
    ]
