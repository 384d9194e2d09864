from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0003_stops"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("exit_code", 0), ("failed", False)),
                fields=["last_ns"],
                name="ix_attempt_ended_well",
            ),
        ),
    ]
