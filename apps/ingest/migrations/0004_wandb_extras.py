import django.contrib.postgres.fields
from django.db import migrations, models

import apps.core.sql


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0003_wandb_uploads"),
    ]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE ingest_wandbextra_id", "DROP SEQUENCE ingest_wandbextra_id"
        ),
        migrations.CreateModel(
            name="WandbExtra",
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
                (
                    "block_id",
                    models.BigIntegerField(
                        db_default=apps.core.sql.NextVal("ingest_wandbextra_id")
                    ),
                ),
                ("first_step", models.BigIntegerField()),
                ("rows", models.IntegerField()),
                ("stored_bytes", models.IntegerField()),
                (
                    "names",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("axis", models.BinaryField()),
                ("runtime", models.BinaryField()),
                ("extra", models.BinaryField()),
            ],
        ),
    ]
