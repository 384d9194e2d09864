from django.db import migrations, models

import apps.core.sql


class Migration(migrations.Migration):
    dependencies = [("logs", "0003_the_file_that_speaks_for_the_job")]

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE logs_bundle_id", reverse_sql="DROP SEQUENCE logs_bundle_id"
        ),
        migrations.CreateModel(
            name="Bundle",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "bundle_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                (
                    "bundle_id",
                    models.BigIntegerField(db_default=apps.core.sql.NextVal("logs_bundle_id")),
                ),
                ("key", models.TextField(unique=True)),
                ("size_bytes", models.BigIntegerField()),
                ("chunks", models.IntegerField()),
                ("dropped_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="bundle",
            index=models.Index(
                condition=models.Q(("dropped_at__isnull", False)),
                fields=["dropped_at"],
                name="ix_bundle_dropped",
            ),
        ),
        migrations.AlterField("chunk", "body", models.BinaryField(null=True)),
        migrations.AddField("chunk", "size_bytes", models.IntegerField(db_default=0)),
        migrations.AddField("chunk", "bundle_id", models.BigIntegerField(null=True)),
        migrations.AddField("chunk", "body_at", models.BigIntegerField(db_default=0)),
        migrations.AddField("chunk", "merged", models.BooleanField(db_default=False)),
        migrations.RunSQL(
            "UPDATE logs_chunk SET size_bytes = length(body)", reverse_sql=migrations.RunSQL.noop
        ),
    ]
