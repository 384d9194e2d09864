from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "incident_id",
                        "recipient",
                        "kind",
                        "seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("incident_id", models.BigIntegerField()),
                ("recipient", models.CharField(max_length=254)),
                ("kind", models.CharField(max_length=20)),
                ("seq", models.IntegerField()),
                ("status", models.CharField(max_length=20)),
                ("due_at_ns", models.BigIntegerField()),
                ("planned_at_ns", models.BigIntegerField()),
                ("claimed_until_ns", models.BigIntegerField(default=0)),
                ("tries", models.IntegerField(default=0)),
                ("sent_at_ns", models.BigIntegerField(null=True)),
                ("latency_ms", models.BigIntegerField(null=True)),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("error", models.TextField(blank=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["due_at_ns"],
                        name="ix_notification_due",
                    ),
                    models.Index(fields=["-planned_at_ns"], name="ix_notification_newest"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["pending", "sent", "folded", "withdrawn"])
                        ),
                        name="notification_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "sent"), _negated=True),
                            ("sent_at_ns__isnull", False),
                            _connector="OR",
                        ),
                        name="notification_sent_has_a_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Recipient",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("address", models.EmailField(max_length=254)),
                ("run_id", models.BigIntegerField(null=True)),
                ("active", models.BooleanField(default=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("address", "run_id"),
                        name="one_recipient_a_run",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
    ]
