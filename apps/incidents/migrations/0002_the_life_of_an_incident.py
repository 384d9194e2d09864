from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("incidents", "0001_tables"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="incident",
            name="incident_state_is_known",
        ),
        migrations.AddField(
            model_name="incident",
            name="acts",
            field=models.IntegerField(db_default=0),
        ),
        # Lines of history are keyed by the number of the act; earlier ones by `reopened`.
        migrations.RunSQL(
            "UPDATE incidents_incident SET acts = reopened + 1", migrations.RunSQL.noop
        ),
        migrations.AddField(
            model_name="incident",
            name="mitigated_at_ns",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="incident",
            name="owner",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="incident",
            name="relapsed_attempt",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="incident",
            name="relapsed_step",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="incident",
            name="silence_reason",
            field=models.TextField(blank=True, db_default=""),
        ),
        migrations.AddField(
            model_name="incident",
            name="silenced_by",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="incident",
            name="silenced_until_ns",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="incident",
            name="urgency",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(page=True, state="open", then=models.Value(0)),
                    models.When(state="open", then=models.Value(1)),
                    models.When(page=True, state="acknowledged", then=models.Value(2)),
                    models.When(state="acknowledged", then=models.Value(3)),
                    models.When(state="mitigated", then=models.Value(4)),
                    default=models.Value(5),
                ),
                output_field=models.SmallIntegerField(),
            ),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["urgency", "-id"], name="ix_incident_urgency"),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["open", "acknowledged", "mitigated", "resolved"])
                ),
                name="incident_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "mitigated"), _negated=True),
                    ("mitigated_at_ns__isnull", False),
                    _connector="OR",
                ),
                name="incident_mitigated_has_a_time",
            ),
        ),
    ]
