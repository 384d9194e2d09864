import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    """What the list of runs shows, one row a run."""

    dependencies = [("metrics", "0008_pinned_series")]

    operations = [
        migrations.CreateModel(
            name="Glance",
            fields=[
                ("run_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("heard_ns", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("loss", models.FloatField(null=True)),
                (
                    "spark",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), size=None
                    ),
                ),
                ("nonfinite", models.IntegerField()),
                ("tokens_s", models.FloatField(null=True)),
                ("usual_tokens_s", models.FloatField(null=True)),
            ],
        ),
    ]
