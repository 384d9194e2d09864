from django.db import migrations, models


class Migration(migrations.Migration):
    """NULL: a note of an older program, to the end of the attempt."""

    dependencies = [("metrics", "0001_tables")]

    operations = [
        migrations.AddField("fresh", "last_step", models.BigIntegerField(null=True)),
    ]
