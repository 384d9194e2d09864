from django.db import migrations, models


class Migration(migrations.Migration):
    """What people said about wanted changes of a run."""

    dependencies = [("metrics", "0003_names_of_a_project")]

    operations = [
        migrations.CreateModel(
            name="Planned",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("number", models.IntegerField()),
                ("kind", models.CharField(max_length=40)),
                ("from_step", models.BigIntegerField()),
                ("to_step", models.BigIntegerField(null=True)),
                ("text", models.CharField(max_length=500, blank=True)),
                ("said_by", models.CharField(max_length=200)),
                ("said_at_ns", models.BigIntegerField()),
                ("removed_by", models.CharField(max_length=200, blank=True)),
                ("removed_at_ns", models.BigIntegerField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["run_id", "from_step", "number"],
                        condition=models.Q(removed_at_ns=None),
                        name="ix_planned_counting",
                    )
                ],
            },
        ),
    ]
