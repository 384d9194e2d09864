from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("incidents", "0005_when_it_relapsed"),
    ]

    operations = [
        migrations.CreateModel(
            name="HostBlameRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "incident_id",
                        "node",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.BigIntegerField()),
                ("incident_id", models.BigIntegerField()),
                ("node", models.CharField(max_length=255)),
                ("attempt", models.IntegerField()),
                ("rank", models.IntegerField(null=True)),
                ("fault_class", models.CharField(max_length=100)),
                ("confidence", models.FloatField()),
                ("weight", models.FloatField()),
                ("confirmed_by", models.CharField(blank=True, max_length=300)),
                ("at_ns", models.BigIntegerField()),
                ("noted_ns", models.BigIntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["node", "-at_ns"], name="ix_blame_node"),
                    models.Index(
                        condition=models.Q(("confirmed_by", "")),
                        fields=["at_ns"],
                        name="ix_blame_unconfirmed",
                    ),
                ],
            },
        ),
    ]
