from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0002_what_evaluations_said"),
    ]

    operations = [
        migrations.CreateModel(
            name="CheckpointCopy",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "step",
                        "place_key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("step", models.BigIntegerField()),
                ("place_key", models.CharField(max_length=64)),
                ("uri", models.TextField()),
                ("tier", models.CharField(max_length=8)),
                ("state", models.CharField(max_length=12)),
                ("level", models.CharField(max_length=20)),
                ("findings", models.JSONField(default=list)),
                ("stated_bytes", models.BigIntegerField(null=True)),
                ("seen_at_ns", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="CheckpointMark",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "attempt",
                        "step",
                        "kind",
                        "name",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("attempt", models.IntegerField()),
                ("step", models.BigIntegerField()),
                ("kind", models.CharField(max_length=8)),
                ("name", models.CharField(blank=True, max_length=100)),
                ("reason", models.TextField(blank=True)),
                ("actor", models.CharField(max_length=200)),
                ("made_at_ns", models.BigIntegerField()),
                ("until_ns", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="checkpoint",
            name="checkpoint_level_is_known",
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="bytes_read",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="bytes_total",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="content_digest",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="seen_at_ns",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="source",
            field=models.CharField(db_default="http", default="http", max_length=8),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="state",
            field=models.CharField(db_default="committing", default="committing", max_length=12),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="state_at_ns",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="unchecked",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="why",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.RunSQL(
            """
            UPDATE checkpoints_checkpoint SET state_at_ns = saved_at_ns, state = CASE
                   WHEN level = 'headers_verified' THEN 'verified'
                   WHEN level = 'committed' OR inventory_digest = '' THEN 'committed'
                   ELSE 'committing' END
            """,
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="checkpoint",
            index=models.Index(
                condition=models.Q(("state__in", ["requested", "committing"])),
                fields=["run_id", "attempt", "step"],
                name="ix_checkpoint_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "level__in",
                        ["listed", "committed", "headers_verified", "hash_verified", "restored"],
                    )
                ),
                name="checkpoint_level_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "requested",
                            "committing",
                            "committed",
                            "verified",
                            "failed",
                            "deleted",
                            "lost",
                        ],
                    )
                ),
                name="checkpoint_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpointcopy",
            constraint=models.CheckConstraint(
                condition=models.Q(("tier__in", ["local", "shared", "bucket"])),
                name="checkpoint_copy_tier_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpointcopy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "requested",
                            "committing",
                            "committed",
                            "verified",
                            "failed",
                            "deleted",
                            "lost",
                        ],
                    )
                ),
                name="checkpoint_copy_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpointmark",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["pin", "tag", "lease"])),
                name="checkpoint_mark_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkpointmark",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "lease"), ("until_ns__isnull", False)),
                    models.Q(
                        models.Q(("kind", "lease"), _negated=True), ("until_ns__isnull", True)
                    ),
                    _connector="OR",
                ),
                name="only_a_lease_ends_by_itself",
            ),
        ),
    ]
