from django.db import migrations, models


class Migration(migrations.Migration):
    """The runs that a run is compared with."""

    dependencies = [("metrics", "0006_notes_for_layers")]

    operations = [
        migrations.CreateModel(
            name="Siblings",
            fields=[
                ("run_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("chosen", models.JSONField()),
                ("total_steps", models.BigIntegerField()),
                ("compute", models.FloatField(null=True)),
                ("curves", models.BinaryField()),
                ("version", models.IntegerField()),
                ("changed_at_ns", models.BigIntegerField()),
                ("changed_by", models.CharField(max_length=200)),
            ],
        ),
    ]
