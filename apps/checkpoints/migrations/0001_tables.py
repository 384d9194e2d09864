from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="CheckpointResave",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "step",
                        "inventory_digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("step", models.BigIntegerField()),
                ("inventory_digest", models.CharField(max_length=64)),
                ("path", models.TextField()),
                ("saved_at_ns", models.BigIntegerField()),
                ("save_s", models.FloatField(null=True)),
                ("files", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "step",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("step", models.BigIntegerField()),
                ("path", models.TextField()),
                ("saved_at_ns", models.BigIntegerField()),
                ("save_s", models.FloatField(null=True)),
                ("files", models.BinaryField()),
                ("file_count", models.IntegerField()),
                ("stated_bytes", models.BigIntegerField()),
                ("inventory_digest", models.CharField(max_length=64)),
                ("framework", models.CharField(max_length=40)),
                ("level", models.CharField(max_length=20)),
                ("findings", models.JSONField(default=list)),
                ("complete", models.BooleanField()),
                ("checked_at_ns", models.BigIntegerField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("level__in", ["listed", "committed", "headers_verified"])
                        ),
                        name="checkpoint_level_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("step__gte", 0)), name="checkpoint_step_is_not_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckpointMetadata",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "step",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("step", models.BigIntegerField()),
                ("content", models.BinaryField()),
                ("content_bytes", models.BigIntegerField()),
                ("checked", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("checked", False)),
                        fields=["run_id", "attempt", "step"],
                        name="ix_checkpoint_unchecked",
                    )
                ],
            },
        ),
    ]
