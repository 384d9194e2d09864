from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("nodes", "0004_how_nodes_stand"),
    ]

    operations = [
        migrations.CreateModel(
            name="NodeChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "node", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("node", models.CharField(max_length=255)),
                ("seq", models.IntegerField()),
                ("at_ns", models.BigIntegerField()),
                ("act", models.CharField(max_length=20)),
                ("before", models.CharField(max_length=20)),
                ("after", models.CharField(max_length=20)),
                ("actor", models.CharField(max_length=200)),
                ("reason", models.TextField()),
                ("cause", models.CharField(blank=True, max_length=100)),
            ],
        ),
        migrations.AddField(
            model_name="node",
            name="came_from",
            field=models.CharField(db_default="ok", max_length=20),
        ),
        migrations.AddField(
            model_name="node",
            name="cause",
            field=models.CharField(blank=True, db_default="", max_length=100),
        ),
        migrations.AddField(
            model_name="node",
            name="changed_by",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="node",
            name="rack",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="node",
            name="log2_score",
            field=models.FloatField(db_default=-1000000000.0),
        ),
        migrations.AddField(
            model_name="node",
            name="reason",
            field=models.TextField(blank=True, db_default=""),
        ),
        migrations.AddField(
            model_name="node",
            name="replaced_by",
            field=models.CharField(blank=True, db_default="", max_length=255),
        ),
        migrations.AddField(
            model_name="node",
            name="since_ns",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="node",
            name="state",
            field=models.CharField(db_default="ok", max_length=20),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["ok", "suspected", "confirmed", "cordoned", "replaced"])
                ),
                name="node_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodechange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "act__in",
                        ["suspect", "withdraw", "confirm", "cordon", "release", "replace", "clear"],
                    )
                ),
                name="node_act_is_known",
            ),
        ),
        migrations.AddField(
            model_name="node",
            name="group_name",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(
                        rack="",
                        then=models.Func(
                            models.Func(
                                "name",
                                models.Value("."),
                                models.Value(1),
                                function="split_part",
                                output_field=models.TextField(),
                            ),
                            models.Value("[-_]*[0-9]+$"),
                            models.Value(""),
                            function="regexp_replace",
                            output_field=models.CharField(max_length=255),
                        ),
                    ),
                    default="rack",
                ),
                output_field=models.CharField(max_length=255),
            ),
        ),
        migrations.AddField(
            model_name="node",
            name="urgency",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(state="confirmed", then=models.Value(0)),
                    models.When(state="suspected", then=models.Value(1)),
                    models.When(state="cordoned", then=models.Value(2)),
                    models.When(state="replaced", then=models.Value(4)),
                    default=models.Value(3),
                ),
                output_field=models.SmallIntegerField(),
            ),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(fields=["urgency", "-log2_score", "name"], name="ix_node_urgency"),
        ),
    ]
