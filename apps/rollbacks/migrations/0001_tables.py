from django.db import migrations, models

import apps.core.sql


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE rollback_order_id",
            reverse_sql="DROP SEQUENCE rollback_order_id",
        ),
        migrations.CreateModel(
            name="OrderEvent",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "order_id",
                        "seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("order_id", models.BigIntegerField()),
                ("seq", models.IntegerField()),
                ("at_ns", models.BigIntegerField()),
                ("act", models.CharField(max_length=20)),
                ("before", models.CharField(blank=True, max_length=20)),
                ("after", models.CharField(max_length=20)),
                ("actor", models.CharField(max_length=200)),
                ("why", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="Order",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                (
                    "id",
                    models.BigIntegerField(db_default=apps.core.sql.NextVal("rollback_order_id")),
                ),
                ("idempotency_key", models.CharField(max_length=128)),
                ("incident_id", models.BigIntegerField(null=True)),
                ("kind", models.CharField(max_length=50)),
                ("onset_step", models.BigIntegerField(null=True)),
                ("from_attempt", models.IntegerField()),
                ("attempt", models.IntegerField()),
                ("step", models.BigIntegerField()),
                ("path", models.TextField()),
                ("inventory_digest", models.CharField(max_length=64)),
                ("branch_dir", models.TextField()),
                ("exclude_nodes", models.JSONField(default=list)),
                ("skip_ranges", models.JSONField(default=list)),
                ("forced", models.BooleanField()),
                ("reason", models.TextField()),
                ("actor", models.CharField(max_length=200)),
                ("requested_at_ns", models.BigIntegerField()),
                ("state", models.CharField(max_length=20)),
                ("changed_at_ns", models.BigIntegerField()),
                ("launch", models.CharField(blank=True, max_length=500)),
                ("resumed_attempt", models.IntegerField(null=True)),
                ("resumed_step", models.BigIntegerField(null=True)),
                ("verdict", models.JSONField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["id"], name="ix_order_id")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "requested",
                                    "acknowledged",
                                    "resumed",
                                    "recovered",
                                    "failed",
                                    "superseded",
                                    "cancelled",
                                ],
                            )
                        ),
                        name="order_state_is_known",
                    ),
                    models.UniqueConstraint(
                        fields=("run_id", "idempotency_key"), name="one_order_an_idempotency_key"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["requested", "acknowledged", "resumed"])),
                        fields=("run_id",),
                        name="one_active_order_a_run",
                    ),
                ],
            },
        ),
    ]
