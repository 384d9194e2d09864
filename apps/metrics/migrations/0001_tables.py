import django.contrib.postgres.fields
from django.db import migrations, models

import apps.core.sql


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE metrics_key_id; CREATE SEQUENCE metrics_block_id; CREATE SEQUENCE metrics_fresh_id;",
            "DROP SEQUENCE metrics_key_id; DROP SEQUENCE metrics_block_id; DROP SEQUENCE metrics_fresh_id;",
        ),
        migrations.CreateModel(
            name="ColdAxis",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "axis_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("axis_id", models.BigIntegerField()),
                ("rows", models.IntegerField()),
                ("axis", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="ColdBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "key_id",
                        "attempt",
                        "last_step",
                        "block_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("key_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("last_step", models.BigIntegerField()),
                ("block_id", models.BigIntegerField()),
                ("first_step", models.BigIntegerField()),
                ("axis_id", models.BigIntegerField()),
                ("points", models.IntegerField()),
                ("nan", models.IntegerField()),
                ("posinf", models.IntegerField()),
                ("neginf", models.IntegerField()),
                ("minimum", models.FloatField()),
                ("maximum", models.FloatField()),
                ("cells", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Detector",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "name",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("name", models.TextField()),
                ("step", models.BigIntegerField(null=True)),
                ("state", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Fresh",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "fresh_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("fresh_id", models.BigIntegerField()),
                ("first_step", models.BigIntegerField()),
                ("ranked", models.BooleanField()),
            ],
        ),
        migrations.CreateModel(
            name="HotBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "last_step",
                        "block_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("last_step", models.BigIntegerField()),
                ("block_id", models.BigIntegerField()),
                ("first_step", models.BigIntegerField()),
                ("keyset_id", models.BigIntegerField()),
                ("ranked", models.BooleanField()),
                ("rows", models.IntegerField()),
                ("points", models.IntegerField()),
                ("nonfinite", models.IntegerField()),
                ("source", models.TextField()),
                ("axis", models.BinaryField()),
                ("cells", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Keyset",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "keyset_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("keyset_id", models.BigIntegerField()),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Tier",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "key_id",
                        "attempt",
                        "level",
                        "chunk",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("key_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("level", models.SmallIntegerField()),
                ("chunk", models.BigIntegerField()),
                ("axis", models.BinaryField()),
                ("cells", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="SeriesKey",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "key_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                (
                    "key_id",
                    models.BigIntegerField(db_default=apps.core.sql.NextVal("metrics_key_id")),
                ),
                ("key", models.TextField()),
                ("ranked", models.BooleanField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run_id", "key", "ranked"), name="uq_metrics_series_key"
                    )
                ],
            },
        ),
        # The blocks are compressed already: Postgres need not try again.
        migrations.RunSQL(
            "ALTER TABLE metrics_hotblock ALTER COLUMN axis SET STORAGE EXTERNAL;"
            "ALTER TABLE metrics_hotblock ALTER COLUMN cells SET STORAGE EXTERNAL;"
            "ALTER TABLE metrics_coldaxis ALTER COLUMN axis SET STORAGE EXTERNAL;"
            "ALTER TABLE metrics_coldblock ALTER COLUMN cells SET STORAGE EXTERNAL;"
            "ALTER TABLE metrics_tier ALTER COLUMN axis SET STORAGE EXTERNAL;"
            "ALTER TABLE metrics_tier ALTER COLUMN cells SET STORAGE EXTERNAL;",
            migrations.RunSQL.noop,
        ),
    ]
