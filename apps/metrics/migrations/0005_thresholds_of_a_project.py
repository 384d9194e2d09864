from django.db import migrations, models


class Migration(migrations.Migration):
    """The thresholds that a project has moved."""

    dependencies = [("metrics", "0004_planned_changes")]

    operations = [
        migrations.CreateModel(
            name="ProjectPolicy",
            fields=[
                ("project", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("values", models.JSONField()),
                ("version", models.IntegerField()),
                ("changed_at_ns", models.BigIntegerField()),
                ("changed_by", models.CharField(max_length=200)),
            ],
        ),
    ]
