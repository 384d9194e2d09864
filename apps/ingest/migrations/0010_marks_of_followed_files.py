from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0009_mirrors"),
    ]

    operations = [
        migrations.AddField(
            model_name="followedpart",
            name="stride",
            field=models.BigIntegerField(default=1),
        ),
        migrations.AddField(
            model_name="followedpart",
            name="digests",
            field=models.JSONField(default=list),
        ),
    ]
